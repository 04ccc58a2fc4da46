"""`command=tune`: constants of the search by which a checkpoint plays best.

Begin at `tune`. `surface` says what scores of many matches tell about all constants.
"""
