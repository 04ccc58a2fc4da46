"""`command=compare`: several runs on one scale of Elo, as a table and a figure.

Start with `compare`. `runs` finds the checkpoints to rate, `means` computes the intervals of the
ratings and the means over seeds, and `figure` draws.
"""
