"""Self-play.

`actor.Actor` plays many games at once. `moves` moves in all of them, `schedule` decides how moves
are chosen, and `resignation` when a player resigns.
"""
