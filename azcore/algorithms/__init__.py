"""The papers' training loops, assembled from the packages below.

Begin with `alphazero` or `alphagozero`, each of which describes its paper's loop; `training` drives
both.
"""
