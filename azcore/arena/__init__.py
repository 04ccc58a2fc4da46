"""Measuring strength.

`match` plays games between two players, `elo` turns results into ratings, `gate` says who passes.
"""
