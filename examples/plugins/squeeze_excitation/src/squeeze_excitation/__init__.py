"""A network with squeeze and excitation, and an evaluator that averages over symmetries."""
