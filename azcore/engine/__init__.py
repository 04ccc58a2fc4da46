"""A checkpoint as an engine for GUIs, and other programs as players.

Begin at `thinker`, which searches one position for as long as it is asked to. `gtp`, `uci` and
`usi` speak for it, over `server` and `lines`; `clock` divides the time. The other way round,
`clients` speak to programs and `player` makes players of them.
"""
