"""Monte-Carlo tree search over many trees at once.

Begin at `mcts.Search`, which runs the loop; `tree.py` holds the arrays, `kernels.py` the compiled
select, expand and backup, `puct.py` the formulas.
"""
