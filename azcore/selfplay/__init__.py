"""Self-play.

`actor.Actor` plays many games at once. `moves` plays the moves of all games, `schedule` decides how
to choose them, and `resignation` decides when a player resigns.
"""
