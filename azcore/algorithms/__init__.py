"""The papers' loops, put together from the parts below.

Begin at `alphazero` or `alphagozero`, each of which says what its paper does; `training` drives
both.
"""
