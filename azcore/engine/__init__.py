"""A checkpoint as an engine for GUIs, and other programs as players.

Start with `thinker`, which searches one position within given limits, and `clock`, which divides
the time. `gtp`, `uci` and `usi` implement the protocols on top of `server` and `lines`. `gtp_game`
holds the game that GTP sets up. `position_server` is the common part of UCI and USI;
`position_command` and `go_command` parse their two long commands. In the other direction, `clients`
talk to other programs and `player` turns those into players.
"""
