"""Self-play.

`actor.Actor` plays many games at once, `schedule` decides how greedily, `resignation` when a game
is given up.
"""
