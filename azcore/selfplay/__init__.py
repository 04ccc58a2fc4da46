"""Self-play.

`actor.Actor` plays many games at once. `schedule` chooses the moves, `resignation` decides when a
player resigns.
"""
