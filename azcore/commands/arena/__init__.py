"""`command=arena`: matches between any players, or between the checkpoints of several runs.

Start with `arena`. `tournament` is for any players and `comparison` for runs; both play with
`matches`, which never repeats a match, and write `files`. `runs` finds the checkpoints to compare,
`means` computes intervals of ratings and means over seeds, and `figure` draws.
"""
