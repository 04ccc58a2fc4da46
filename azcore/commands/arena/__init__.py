"""`command=arena`: matches between any players, and a rating list."""
