"""Monte-Carlo tree search over many trees at once.

Begin at `puct`, the rule that selects an edge (`gumbel` has the other rule), then `walks`, which
select leaves, and `backups`, which expand them. `mcts.Search` runs the loop by `settings`. `tree`
holds the arrays and `variants` the methods that a search may use; `roots` changes a root and
`results` reads it; `transpositions` turns trees into graphs. `evaluators` evaluates leaves.
"""
