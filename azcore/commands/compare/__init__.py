"""`command=compare`: several runs on one scale of Elo, as a table and a figure.

Begin at `compare`. `runs` finds what is to be rated, `means` says how sure the ratings are and what
seeds come to together, `figure` draws.
"""
