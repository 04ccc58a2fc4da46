"""My game for azcore: `rules.py`, `encoding.py` and `notation.py`, tied together in `game.py`."""
