"""`command=check`: checks that a game keeps the contract, and reports facts for its author.

`report.py` is the command; `planes.py` draws what the network sees; `estimate.py` estimates the
time of a self-play game.
"""
