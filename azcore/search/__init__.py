"""Monte-Carlo tree search over many trees at once.

Begin at `puct`, the rule that selects an edge (`gumbel` has the other rule), then `walks`: select,
expand, back up. `mcts.Search` runs the loop by `settings`. `tree` holds the arrays, `roots` the
operations at a root, and `transpositions` turns trees into graphs. `evaluators` evaluates leaves.
"""
