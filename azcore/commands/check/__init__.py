"""`command=check`: whether a game keeps the contract, and what its author wants to know of it.

`report.py` is the command; `planes.py` draws what the network sees; `estimate.py` measures how long
a game of self-play will take.
"""
