"""Measures playing strength.

`match` plays games between two players, `elo` turns results into ratings with the model of
`likelihood`, `sprt` decides when a match can stop, and `gate` decides which candidates pass.
"""
