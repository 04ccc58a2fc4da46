"""Whole games of the compiled rules against the plain form over cshogi, position by position.

    python tests/games/shogi/compare.py 2000

At every position the two must agree on the seat to move, the set of legal actions by number, their
texts (of some), the planes, the position text, the end, its outcome and the words for it. Games are
of six kinds, in turn, because random games alone seldom repeat a position or enter a king:

* `start`: random moves from the usual start
* `placed`: random moves from pieces placed at random, near the end of the longest game
* `cycle`: few pieces, and moves that bring an earlier position back are preferred
* `checks`: the same, but one seat gives check where it can
* `entering`: a king and its pieces placed in the far three ranks, the rest at random
* `mate`: as `placed`, with one king only, as in mate problems
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import azcore
from azcore.errors import InvalidTextError

KINDS = ("start", "placed", "cycle", "checks", "entering", "mate")
PIECES = "P" * 18 + "LLLLNNNNSSSSGGGGBBRR"


def placed_sfen(rng: np.random.Generator, kind: str, number: int) -> str:
    """Pieces put down at random; often no position at all."""
    board = [""] * 81
    cells = rng.permutation(81).tolist()
    board[cells.pop()], board[cells.pop()] = "K", "k"
    if kind == "mate":
        board[board.index("kK"[int(rng.integers(2))])] = ""
    hands = ["", ""]
    pieces = rng.permutation(list(PIECES)).tolist()
    if kind in ("cycle", "checks"):
        pieces = pieces[: int(rng.integers(1, 7))]
    share_in_hand = rng.random() if kind in ("placed", "mate") else 0.0
    if kind == "entering":
        board = [""] * 81
        board[int(rng.integers(27))], board[int(rng.integers(54, 81))] = "K", "k"
        far = [cell for cell in cells if cell < 27 and not board[cell]]
        near = [cell for cell in cells if cell >= 27 and not board[cell]]
        own = int(rng.integers(9, 13))
        cells = near + far[:own]
        pieces = sorted(pieces, key=lambda piece: piece in "P")
        pieces = [*pieces[20:], *rng.permutation(pieces[:20]).tolist()]
        share_in_hand = 0.4
    for i, piece in enumerate(reversed(pieces)):
        entered = kind == "entering" and i < own
        seat = 0 if entered else int(rng.integers(2))
        if not cells or (not entered and rng.random() < share_in_hand):
            hands[seat] += piece
            continue
        promoted = piece != "G" and rng.random() < 0.4
        board[cells.pop()] = ("+" if promoted else "") + (piece if seat == 0 else piece.lower())
    if kind == "entering" and rng.random() < 0.5:  # White enters as well
        board = [piece.swapcase() for piece in reversed(board)]
        hands.reverse()
    rows = ["".join(piece or "1" for piece in board[9 * r : 9 * r + 9]) for r in range(9)]
    text = "/".join(rows)
    for empty in range(9, 1, -1):
        text = text.replace("1" * empty, str(empty))
    held = ""
    for seat, hand in enumerate(hands):
        for piece in "RBGSNLP":
            if piece in hand:
                count = hand.count(piece)
                held += (str(count) if count > 1 else "") + (piece if seat == 0 else piece.lower())
    return f"{text} {'bw'[int(rng.integers(2))]} {held or '-'} {number}"


def start_text(game: Any, rng: np.random.Generator, kind: str) -> str:
    while True:
        plies = 100 if kind in ("cycle", "checks") else 60
        text = placed_sfen(rng, kind, game.max_plies - int(rng.integers(plies // 2, plies)))
        try:
            game.state_from_text(text)
        except InvalidTextError:
            continue
        return text


def explored(state: Any, texts: dict[int, str]) -> tuple[list[int], list[int]]:
    """The actions that give check and those that bring an earlier position back, by cshogi."""
    check, back = [], []
    for action, text in texts.items():
        state.board.push_usi(text)
        if state.board.is_check():
            check.append(action)
        if state.board.sfen().rsplit(" ", 1)[0] in state.positions:
            back.append(action)
        state.board.pop()
    return check, back


def same(what: str, got: Any, want: Any, game: Any, state: Any) -> None:
    if got != want:
        raise AssertionError(
            f"{what}: {got!r}, cshogi {want!r}\n{game.state_to_text(state)}\n{game.render(state)}"
        )


def compare_game(game: Any, plain: Any, kind: str, rng: np.random.Generator) -> tuple[str, int]:
    """Play one game; how it ended, and its plies.

    Raises:
        AssertionError: the two differ; with what and where.
    """
    if kind == "start":
        state, slow = game.initial_state(), plain.initial_state()
    else:
        text = start_text(game, rng, kind)
        state, slow = game.state_from_text(text), plain.state_from_text(text)
    checker = int(rng.integers(2))
    plies = 0
    while True:
        mask = plain.legal_action_mask(slow)
        legal = np.flatnonzero(mask)
        got = np.flatnonzero(game.legal_action_mask(state))
        same("legal actions", got.tolist(), legal.tolist(), game, state)
        same("seat", game.current_player(state), plain.current_player(slow), game, state)
        same("text", game.state_to_text(state), plain.state_to_text(slow), game, state)
        seen, wanted = game.observation(state), plain.observation(slow)
        wrong = np.argwhere(seen != wanted)[:5].tolist()
        same("planes that differ", wrong, [], game, state)
        same("end", game.is_terminal(state), plain.is_terminal(slow), game, state)
        if plain.is_terminal(slow):
            same("outcome", game.outcome(state), plain.outcome(slow), game, state)
            same("ending", game.termination(state), plain.termination(slow), game, state)
            return plain.termination(slow), plies
        action = int(rng.choice(legal))
        if kind in ("cycle", "checks"):
            texts = {a: plain.action_to_text(slow, a) for a in legal.tolist()}
            check, back = explored(slow, texts)
            if kind == "checks" and plain.current_player(slow) == checker and check:
                back = [a for a in back if a in check]
                action = int(rng.choice(check))
            if back and rng.random() < 0.8:
                action = int(rng.choice(back))
        for a in (action, int(rng.choice(legal))):
            text = plain.action_to_text(slow, a)
            same("action text", game.action_to_text(state, a), text, game, state)
            same("action", game.text_to_action(state, text), a, game, state)
        state, slow = game.step(state, action), plain.step(slow, action)
        plies += 1


def compare_games(games: int, seed: int = 0, kinds: tuple[str, ...] = KINDS) -> Counter[str]:
    """Play so many games; how often each kind of game had each end, and all plies."""
    pairs = [
        (azcore.make("shogi", **settings), azcore.make("shogi_plain", **settings))
        for settings in ({}, {"entering_king": True})
    ]
    ends: Counter[str] = Counter()
    for number in range(games):
        rng = np.random.default_rng([seed, number])
        kind = kinds[number % len(kinds)]
        # An entered king counts in most games of its kind, and in a few of the others.
        entering = rng.random() < (0.8 if kind == "entering" else 0.2)
        ending, plies = compare_game(*pairs[entering], kind, rng)
        ends[f"{kind}: {ending}"] += 1
        ends["positions"] += plies + 1
    return ends


if __name__ == "__main__":
    began = time.time()
    total = compare_games(int(sys.argv[1]))
    for what, count in sorted(total.items()):
        print(f"{count:>8} {what}")
    print(f"all agree; {time.time() - began:.0f} s")
