"""Keys of positions: one for all orders of the same moves, another where the game goes on apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import azcore
from azcore.errors import FaultyGameError
from azcore.game import CompiledGame, Game
from azcore.game.batch import make_batch
from azcore.game.keys import state_key
from azcore.game.positions import Paths, make_positions, only_roots
from azcore.testing import random_states


def key_after(game: Game, moves: str) -> int:
    state = game.initial_state()
    for text in moves.split():
        state = game.step(state, game.text_to_action(state, text))
    key = game.position_key(state)
    assert key is not None
    return key


# Game, its settings, one order of moves, another.
SAME: list[tuple[str, dict[str, Any], str, str]] = [
    ("tic_tac_toe", {}, "a1 b2 c3", "c3 b2 a1"),
    ("tic_tac_toe_plain", {}, "a1 b2 c3", "c3 b2 a1"),
    ("go", {"board_size": 5}, "B2 C3 D4 pass", "D4 C3 B2 pass"),
    ("chess", {}, "g1f3 g8f6 b1c3", "b1c3 g8f6 g1f3"),
    ("chess", {}, "e2e4 e7e5 d2d3", "d2d3 e7e5 e2e4"),
    ("shogi", {}, "7g7f 3c3d 2g2f", "2g2f 3c3d 7g7f"),
]
OTHER: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "other stones": ("tic_tac_toe", {}, "a1 b2 c3", "a1 b2 c2"),
    "whose stone": ("tic_tac_toe_plain", {}, "a1 b2 c3 c2", "a1 c3 c2 b2"),
    "go, whose stone": ("go", {"board_size": 5}, "B2 C3", "C3 B2"),
    "go, one pass more": ("go", {"board_size": 5}, "B2 C3 D4 pass", "B2 pass D4 C3"),
    # C3 takes B3, so B3 is forbidden; at the end of the other order nothing has been taken.
    "go, ko": (
        "go",
        {"board_size": 5},
        "B4 C4 B2 C2 A3 D3 E5 B3 C3",
        "B4 C4 B2 C2 A3 D3 C3 pass E5",
    ),
    "chess, castling": ("chess", {}, "h2h3 h7h6 h1h2 a7a6 h2h1", "h2h3 a7a6 a2a3 h7h6 a3a4"),
    "chess, right lost": (
        "chess",
        {},
        "h2h4 h7h5 h1h2 h8h7 h2h1 h7h8",
        "h2h4 h7h5 b1c3 b8c6 c3b1 c6b8",
    ),
    "chess, en passant": (
        "chess",
        {},
        "e2e4 a7a6 e4e5 d7d5",
        "e2e4 d7d6 e4e5 a7a6",
    ),
    "chess, clock": ("chess", {}, "e2e4 e7e5 g1f3", "g1f3 e7e5 e2e4"),
    "shogi, hands": (
        "shogi",
        {},
        "7g7f 3c3d 8h2b+ 3a2b",
        "7g7f 3c3d 2g2f 2b8h+",
    ),
}


@pytest.mark.parametrize(("name", "settings", "one", "other"), SAME)
def test_another_order(name: str, settings: dict[str, Any], one: str, other: str) -> None:
    game = azcore.make(name, **settings)
    assert key_after(game, one) == key_after(game, other)


@pytest.mark.parametrize("what", OTHER)
def test_another_position(what: str) -> None:
    name, settings, one, other = OTHER[what]
    game = azcore.make(name, **settings)
    assert key_after(game, one) != key_after(game, other)


def test_ko_alone_makes_another_key() -> None:
    """The same board, seat and passes; in one of the games B3 would bring back an earlier board."""
    game = azcore.make("go", board_size=5)
    taken = "B4 C4 B2 C2 A3 D3 pass B3 C3"  # C3 takes B3
    built = "B4 C4 B2 C2 A3 D3 C3 pass pass"
    states = []
    for moves in (taken, built):
        state = game.initial_state()
        for text in moves.split()[: None if moves is taken else 7]:
            state = game.step(state, game.text_to_action(state, text))
        states.append(state)
    assert states[0].hash == states[1].hash
    assert states[0].player == states[1].player
    b3 = game.text_to_action(states[1], "B3")
    assert game.legal_action_mask(states[1])[b3]
    assert not game.legal_action_mask(states[0])[b3]
    states[0].passes = states[1].passes = 0
    assert game.position_key(states[0]) != game.position_key(states[1])
    # Nothing else tells them apart: with the earlier boards forgotten the keys are one.
    states[0].num_positions = 0
    assert game.position_key(states[0]) == game.position_key(states[1])


@pytest.mark.parametrize(
    ("name", "moves", "others"),
    [
        ("chess", "g1f3 g8f6 f3g1 f6g8", "b1c3 b8c6 c3b1 c6b8"),
        ("shogi", "2h3h 8b7b 3h2h 7b8b", "4i4h 6a6b 4h4i 6b6a"),
    ],
)
def test_repetition_makes_another_key(name: str, moves: str, others: str) -> None:
    """Eight plies to the start: by one way back it comes for the third time, or for the second."""
    game = azcore.make(name)
    there, back = moves.split()[:2], moves.split()[2:]
    out, home = others.split()[:2], others.split()[2:]
    third = key_after(game, " ".join([*there, *back, *out, *home]))
    second = key_after(game, " ".join([*there, *out, *back, *home]))
    another = key_after(game, " ".join([*out, *there, *home, *back]))
    assert third != second == another


@pytest.mark.rules
@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_plain", "go", "chess", "shogi"])
def test_keys_of_random_games(name: str) -> None:
    """Of 64 bits, compiled as interpreted, from a batch as from the game; none where not wanted."""
    game = azcore.make(name, **({"board_size": 5} if name == "go" else {}))
    states = random_states(game, 60, np.random.default_rng(2))
    keys = [game.position_key(state) for state in states]
    assert all(isinstance(key, int) and 0 <= key < 2**64 for key in keys)
    assert len(set(keys)) > 40
    batch = make_batch(game, len(states))
    for row, state in enumerate(states):
        batch.set(row, state)
    out = make_positions(game, len(states), keys=True)
    roots = np.arange(len(states), dtype=np.int32)
    batch.replay(only_roots(roots), out)
    assert [int(key) for key in out.keys] == keys
    without = make_positions(game, len(states))
    batch.replay(only_roots(roots), without)
    assert len(without.keys) == 0
    assert (without.observations == out.observations).all()
    if isinstance(game, CompiledGame):
        rule = game.rules.position_key
        assert rule is not None
        with np.errstate(over="ignore"):
            assert [int(rule(state)) % 2**64 for state in states] == keys


@pytest.mark.rules
def test_the_key_of_a_whole_record() -> None:
    """Every byte of every field counts, padding does not; compiled as interpreted."""
    given = azcore.make("go", board_size=3)
    assert isinstance(given, CompiledGame)
    object.__setattr__(given.rules, "position_key", None)
    state = given.initial_state()
    key = given.position_key(state)
    assert key == state_key(state)
    seen = {key}
    fields = state.dtype.fields
    inside = np.zeros(state.dtype.itemsize, np.bool_)
    for kind, offset in ((field[0], field[1]) for field in fields.values()):
        inside[offset : offset + kind.itemsize] = True
    for byte in range(0, state.dtype.itemsize, 7):
        changed = np.frombuffer(bytearray(state.tobytes()), state.dtype).copy()
        changed.view(np.uint8)[byte] ^= 1
        seen.add(given.position_key(changed[0]))
        assert (given.position_key(changed[0]) == key) == (not inside[byte])
    assert len(seen) == 1 + inside[::7].sum()
    assert not inside.all()


def test_the_fnv_numbers() -> None:
    """Test values of RFC 9923 for one field of bytes: "a" and "foobar"."""
    for text, want in ((b"a", 0xAF63DC4C8601EC8C), (b"foobar", 0x85944171F73967E8)):
        record = np.zeros(1, np.dtype([("text", np.uint8, (len(text),))]))
        record["text"] = list(text)
        assert state_key(record[0]) == want


def test_a_game_that_states_none() -> None:
    game = azcore.make("chess_plain")
    assert not game.has_position_key
    assert game.position_key(game.initial_state()) is None


class Forgetful(type(azcore.make("tic_tac_toe_plain"))):  # type: ignore[misc]
    """Has a key in its first position alone."""

    def position_key(self, state: str) -> int | None:
        return 0 if state == self.initial_state() else None


def test_a_key_must_be_there_in_every_state() -> None:
    game = Forgetful()
    out = make_positions(game, 1, keys=game.has_position_key)
    batch = make_batch(game, 1)
    at, action = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    batch.replay(Paths(at, action, at), out)
    with pytest.raises(FaultyGameError, match="gave None, want 0 to 2"):
        batch.replay(Paths(at, action, at + 1), out)
