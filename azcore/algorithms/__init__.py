"""The papers' training loops, assembled from the packages below.

Start with `alphazero` or `alphagozero`, which describe their papers' loops; `training` drives both.
"""
