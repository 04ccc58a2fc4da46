"""Files on disk, and the replay window that training samples from.

`game_record` converts a finished game to bytes, `game_file` stores many of them, `referee` checks
games from elsewhere against the rules, and `replay` is the window. `run_directory` defines the
files of a run, `run_settings` the settings it saves, `table` its CSV files. `checkpoint` saves and
verifies the state of training. `untrusted` reads files from unknown sources. `transcripts` writes
and reads SGF, PGN, KIF and CSA, with comments in the form of `commentary`.
"""
