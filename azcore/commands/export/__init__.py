"""`command=export`: games of a run, a position or a network as files for other programs.

Start with `export`; a module for each thing that `what=` names.
"""
