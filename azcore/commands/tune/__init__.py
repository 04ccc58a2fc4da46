"""`command=tune`: finds the search constants with which a checkpoint plays best.

Start with `tune`. `surface` models the score of all constants from the scores of many matches.
"""
