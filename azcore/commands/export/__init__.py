"""`command=export`: games of a run, a position or a network as files for other programs.

Start with `export`; each choice of `what=` has a module.
"""
