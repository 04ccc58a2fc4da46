"""Builds parts from settings.

`parts` builds the typed settings and the objects they describe; `entrants` turns texts such as
`random`, a run directory or a program into players.
"""
