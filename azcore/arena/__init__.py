"""Measuring strength.

`match` plays games between two players, `elo` turns results into ratings by the model of
`likelihood`, `sprt` says when a match has said enough, `gate` who passes.
"""
