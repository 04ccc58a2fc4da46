"""From settings to parts.

`parts` makes the typed settings and what they describe; `entrants` makes players of texts such as
`random`, a run directory or a program.
"""
