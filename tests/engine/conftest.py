"""What the tests of engines share."""

from __future__ import annotations

import pytest

import azcore
from azcore.game import Game


@pytest.fixture(scope="module")
def go5() -> Game:
    return azcore.make("go", board_size=5)
