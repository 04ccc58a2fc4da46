"""Hex for azcore: `rules.py`, `encoding.py`, `notation.py`, tied together in `game.py`."""
