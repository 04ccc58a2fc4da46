"""A checkpoint as an engine for GUIs, and other programs as players.

Begin at `thinker`, which searches one position for as long as it is asked to, and `clock`, which
divides the time. `gtp`, `uci` and `usi` speak for it over `server` and `lines`. `gtp_game` has the
game that GTP sets up; `position_server` is what UCI and USI share, with `position_command` and
`go_command` for their two long commands. The other way round, `clients` speak to programs and
`player` makes players of them.
"""
