"""Random numbers are those of their purpose, seed, index and ply, however they are drawn."""

from __future__ import annotations

import numpy as np

from azcore.chance import Generators, Purpose, generator

PLACES = [
    (Purpose.MOVE, 1, 0, 0),
    (Purpose.MOVE, 1, 0, 1),
    (Purpose.GUMBEL, 1, 0, 1),
    (Purpose.GUMBEL, 2**63 - 1, 2**40, 721),
    (Purpose.MOVE, 1, 1, 0),
    (Purpose.MOVE, 1, 0, 0),
]


def test_generators_draw_what_fresh_ones_do() -> None:
    """Also after draws that leave half of a word, or some of a block, behind."""
    generators = Generators()
    drawn = []
    for place in PLACES:
        one, fresh = generators.at(*place), generator(*place)
        for draw in (
            lambda rng: rng.integers(0, 7, size=3, dtype=np.uint32),
            lambda rng: rng.random(5),
            lambda rng: rng.gumbel(size=82),
            lambda rng: rng.dirichlet(np.full(9, 0.3)),
        ):
            np.testing.assert_array_equal(draw(one), draw(fresh))
        drawn.append(one.random())
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) == len(drawn) - 1
