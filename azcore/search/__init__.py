"""Monte-Carlo tree search over many trees at once.

Begin at `puct`, how an edge is chosen (`gumbel` has the other rule), then `walks`: select, expand,
back up. `mcts.Search` runs the loop by `settings`; `tree` holds the arrays, `roots` what is done at
a root, `transpositions` what makes graphs of trees. `evaluators` is what judges a leaf.
"""
