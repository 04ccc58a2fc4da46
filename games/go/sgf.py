"""Go games as SGF, by the library sgfmill, which is imported when one is written or read."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from azcore.errors import IllegalActionError, InvalidTextError
from azcore.game import Game, Transcript, TranscriptFormat

from . import rules
from .notation import PLAYERS, STONES, board_rows, score_to_text, state_to_text

SGF_HEADERS = {"event": "EV", "site": "PC", "date": "DT"}
SGF_COLOURS = "BW"  # by seat
SGF_PARTS = re.compile(
    r"\[(?:[^\]\\]|\\.)*\]?|[()]", re.DOTALL
)  # values, and brackets outside them
LONGEST_SGF = 1_000_000  # characters of a game: a thousand times a game's moves; seconds to read


def transcript_format(game: Game) -> TranscriptFormat:
    """The SGF format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".sgf",
        write=partial(write_sgf, game),
        read=partial(read_sgf, game),
        resignation=lambda seat: f"{SGF_COLOURS[1 - seat]}+R",
        split=split_sgf,
    )


def write_sgf(game: Game, transcript: Transcript) -> str:
    """A game as SGF: SZ, KM, RU in words, names, headers, set-up stones, comments and result.

    A finished game without a result gets its score; an unfinished one gets no RE.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is not a position, or has more than stones and a turn.
    """
    from sgfmill import sgf  # needed only to write or read SGF

    state = game.initial_state()
    size = state.history.shape[0]
    document = sgf.Sgf_game(size)
    root = document.get_root()
    root.set("KM", float(state.komi))
    root.set("RU", "Tromp-Taylor" if state.suicide else "Tromp-Taylor without suicide")
    for seat, name in enumerate(transcript.players):
        if name:
            root.set(f"P{SGF_COLOURS[seat]}", name)
    for header, text in transcript.headers.items():
        root.set(SGF_HEADERS[header], text)
    if transcript.start_text is not None:
        state = game.state_from_text(transcript.start_text)
        if len(state_to_text(state).split()) > 2:
            raise InvalidTextError(
                "go: an SGF game starts from stones and whose turn it is, and cannot say more: "
                f"{transcript.start_text[:400]!r}"
            )
        points = [[_sgf_point(size, i) for i in cells] for cells in _stones(state)]
        root.set_setup_stones(*points)
        root.set("PL", PLAYERS[state.player])
    for action, comment in zip(transcript.actions, transcript.comments, strict=True):
        node = document.extend_main_sequence()
        at = None if action == size * size else _sgf_point(size, action)
        colour = PLAYERS[state.player]
        state = game.step(state, action)
        node.set_move(colour, at)
        if comment:
            node.set("C", comment)
    result = transcript.result
    if result is None and game.is_terminal(state):
        result = score_to_text(rules.score(state))
    if result is not None:
        root.set("RE", result)
    return str(document.serialise().decode())


def _sgf_point(size: int, action: int) -> tuple[int, int]:
    """sgfmill's (row from the bottom, column) of a point."""
    return size - 1 - action // size, action % size


def _stones(state: Any) -> list[list[int]]:
    """The points of Black's and of White's stones, as actions."""
    cells = "".join(board_rows(state))
    return [[i for i, stone in enumerate(cells) if stone == colour] for colour in STONES[1:]]


def read_sgf(game: Game, text: str) -> Transcript:
    """The main line of an SGF game, with stones set up before its first move, such as a handicap.

    Komi and rules in the file are ignored: they change no action.

    Raises:
        InvalidTextError: not SGF, longer than `LONGEST_SGF`, another board size, stones set up
            during the game, or a move that is out of turn or illegal; the message gives its number.
    """
    from sgfmill import sgf

    state, start_text = game.initial_state(), None
    size = state.history.shape[0]
    try:
        document = sgf.Sgf_game.from_string(text[:LONGEST_SGF])
        if document.get_size() != size:
            raise InvalidTextError(
                f"go: the SGF board must be {size}x{size}, "
                f"got {document.get_size()}x{document.get_size()}"
            )
        root, *nodes = document.get_main_sequence()
        if root.has_property("GM") and root.get("GM") != 1:
            got = f"GM[{str(root.get('GM'))[:20]}]"
            raise InvalidTextError(f"go: the SGF game must be of Go, GM[1], got {got}")
        set_up = [node.has_setup_stones() for node in nodes]
        moves = [node.get_move() for node in (root, *nodes)]
        comments = [_sgf_text(node, "C") for node in (root, *nodes)]
        black, white, _ = root.get_setup_stones()
        turn = root.get("PL") if root.has_property("PL") else None
        players = (_sgf_text(root, "PB"), _sgf_text(root, "PW"))
        headers = {name: _sgf_text(root, key) for name, key in SGF_HEADERS.items()}
        result = _sgf_text(root, "RE") or None
    except ValueError as error:
        if isinstance(error, InvalidTextError):
            raise
        why = str(error) or "a property has a value that it cannot have"
        if len(text) > LONGEST_SGF:
            why = f"its first game must end within {LONGEST_SGF:,} characters; {why}"
        raise InvalidTextError(f"go: not a readable SGF game: {why}") from error
    if any(set_up):
        raise InvalidTextError(
            "go: the SGF game sets up stones after its start, which is no game that can be read "
            f"(node {set_up.index(True) + 1})"
        )
    if black or white or turn == PLAYERS[1]:
        first = next(
            (colour for colour, _ in moves if colour is not None),
            PLAYERS[bool(black and not white)],
        )
        start_text = _start_of_sgf(size, black, white, turn or first)
        state = game.state_from_text(start_text)
    actions: list[int] = []
    kept: list[list[str]] = []  # by move
    for (colour, at), comment in zip(moves, comments, strict=True):
        if colour is None:
            if actions:  # a node without a move comments on the move before it
                kept[-1].append(comment)
            continue
        number = len(actions) + 1
        if colour != PLAYERS[state.player]:
            raise InvalidTextError(
                f"go: move {number} of the SGF game must be {PLAYERS[state.player].upper()}'s, "
                f"got {colour.upper()}'s"
            )
        action = size * size if at is None else (size - 1 - at[0]) * size + at[1]
        try:
            state = game.step(state, action)
        except IllegalActionError as error:
            raise InvalidTextError(f"go: move {number} of the SGF game: {error}") from error
        actions.append(action)
        kept.append([comment])
    return Transcript(
        actions=actions,
        comments=["\n".join(filter(None, parts)) for parts in kept],
        players=players,
        result=result,
        headers=headers,
        start_text=start_text,
    )


def split_sgf(text: str) -> list[str]:
    """The texts of the games of an SGF collection: each is a tree in parentheses."""
    games: list[str] = []
    depth = begun = 0
    for token in SGF_PARTS.finditer(text):
        if token[0] == "(":
            begun = token.start() if depth == 0 else begun
            depth += 1
        elif token[0] == ")" and depth > 0:
            depth -= 1
            if depth == 0:
                games.append(text[begun : token.end()])
    if depth > 0:  # cut off
        games.append(text[begun:])
    return games or [text]


def _sgf_text(node: Any, key: str) -> str:
    return str(node.get(key)) if node.has_property(key) else ""


def _start_of_sgf(size: int, black: set[Any], white: set[Any], turn: str) -> str:
    """The position of the set-up stones, as text for `state_from_text`."""
    rows = [["."] * size for _ in range(size)]
    for stone, points in zip(STONES[1:], (black, white), strict=True):
        for row, column in points:
            rows[size - 1 - row][column] = stone
    return "/".join("".join(row) for row in rows) + f" {turn}"
