"""What is kept on disk, and the window of games that training draws from.

`game_record` is a finished game as bytes, `game_file` the file of many; `referee` replays games of
others by the rules, `replay` is the window. `run_directory` says where everything of a run lies,
`run_settings` which settings it keeps, `table` is its CSV files, `untrusted` how files of others
are read. `transcripts` writes and reads SGF, PGN, KIF and CSA, with `commentary` as comments.
"""
