"""Go games as SGF, by the library sgfmill, which is imported when one is written or read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from azcore.errors import IllegalActionError, InvalidTextError, TranscriptError
from azcore.game import GameText, Transcript, TranscriptFormat

from . import rules
from .notation import (
    PLAYERS,
    STONES,
    Go,
    board_rows,
    komi_word,
    score_to_text,
    state_to_text,
)

SGF_HEADERS = {"event": "EV", "site": "PC", "date": "DT"}
SGF_COLOURS = "BW"  # by seat
LONGEST_SGF = 1_000_000  # characters of a game: a thousand times a game's moves; seconds to read
# How the text of a game begins: a game before it that is not closed ends there.
SGF_ROOT = re.compile(r"\(\s*;\s*(?:FF|GM|CA|AP|SZ)\[")
SGF_SIGN = re.compile(r"\\.?|[\[\]()]", re.DOTALL)  # a backslash takes the next sign with it
RESULT = re.compile(r"\s*([BW])\s*\+|\s*(0|Draw|Jigo)\s*$", re.IGNORECASE)
RANK = re.compile(r"\s*(\d{1,2})\s*(k|d|p)", re.IGNORECASE)
PROFESSIONAL = 9  # the rank of any: above that, they are not told apart


def transcript_format(game: Go) -> TranscriptFormat:
    """The SGF format, as `Game.transcript_formats` returns it."""
    return TranscriptFormat(
        suffix=".sgf",
        write=partial(write_sgf, game),
        read=partial(read_sgf, game),
        resignation=lambda seat: f"{SGF_COLOURS[1 - seat]}+R",
        draw="0",
        games=games_of_sgf,
        players_count=True,
    )


def games_of_sgf(lines: Iterable[str]) -> Iterator[str]:
    """The games of a collection, without what stands between them."""
    text = GameText()
    depth = 0  # open parentheses
    in_value = is_escaped = False
    begins_line = True
    for line in lines:
        if depth and begins_line and SGF_ROOT.match(line):
            yield text.take()
            depth, in_value = 0, False
        start, first, is_escaped = 0, int(is_escaped), False
        for sign in SGF_SIGN.finditer(line, first):
            is_escaped = sign[0] == "\\"  # of a long line's piece, which ends here
            if in_value:
                in_value = sign[0] != "]"
            elif sign[0] == "[":
                in_value = depth > 0
            elif sign[0] == "(":
                start = start if depth else sign.start()
                depth += 1
            elif sign[0] == ")" and depth:
                depth -= 1
                if depth == 0:
                    text.add(line[start : sign.end()])
                    yield text.take()
        if depth:
            text.add(line[start:])
        begins_line = line.endswith("\n")
    if depth:
        yield text.take()


def write_sgf(game: Go, transcript: Transcript) -> str:
    """A game as SGF: SZ, KM, RU in words, names, headers, set-up stones, comments and result.

    A finished game without a result gets its score; an unfinished one gets no RE.

    Raises:
        IllegalActionError: an action is not legal where it is played.
        InvalidTextError: the start is not a position, or has more than stones and a turn.
    """
    from sgfmill import sgf  # needed only to write or read SGF

    start_text = transcript.start_text
    state = game.initial_state() if start_text is None else game.state_from_text(start_text)
    size = state.history.shape[0]
    document = sgf.Sgf_game(int(state.size_in_play))
    root = document.get_root()
    root.set("KM", float(state.komi))
    root.set("RU", "Tromp-Taylor" if state.suicide else "Tromp-Taylor without suicide")
    for seat, name in enumerate(transcript.players):
        if name:
            root.set(f"P{SGF_COLOURS[seat]}", name)
    for header, text in transcript.headers.items():
        root.set(SGF_HEADERS[header], text)
    if start_text is not None:
        if len(state_to_text(state, state.komi).split()) > 2:
            raise InvalidTextError(
                "go: an SGF game starts from stones and whose turn it is, and cannot say more: "
                f"{start_text[:400]!r}"
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
    """sgfmill's (row from the bottom, column) of a point, the same on a smaller board."""
    return size - 1 - action // size, action % size


def _stones(state: Any) -> list[list[int]]:
    """The points of Black's and of White's stones, as actions."""
    size, rows = state.history.shape[0], board_rows(state)
    cells = "".join(row.ljust(size, STONES[0]) for row in rows)
    first = size * (size - len(rows))
    return [[i for i, stone in enumerate(cells, first) if stone == colour] for colour in STONES[1:]]


def read_sgf(game: Go, text: str) -> Transcript:
    """The main line of an SGF game, with stones set up before its first move, such as a handicap.

    The board may be any of the game's. Komi and rules in the file change no action: a komi of the
    game's is that of the start, and others are compared and told.

    Raises:
        InvalidTextError: not SGF, longer than `LONGEST_SGF`, another board size, stones set up
            during the game, or a move that is out of turn or illegal; the message gives its number.
    """
    from sgfmill import sgf

    size = game.board_size
    try:
        document = sgf.Sgf_game.from_string(text[:LONGEST_SGF])
        size_in_play = document.get_size()
        if size_in_play not in game.sizes:
            raise TranscriptError(
                f"go: the SGF board must be {' or '.join(f'{n}x{n}' for n in game.sizes)}, "
                f"got {size_in_play}x{size_in_play}",
                f"a board of {size_in_play}x{size_in_play}",
            )
        root, *nodes = document.get_main_sequence()
        if root.has_property("GM") and root.get("GM") != 1:
            got = f"GM[{str(root.get('GM'))[:20]}]"
            raise TranscriptError(
                f"go: the SGF game must be of Go, GM[1], got {got}", "another game than Go"
            )
        set_up = [node.has_setup_stones() for node in nodes]
        moves = [node.get_move() for node in (root, *nodes)]
        comments = [_sgf_text(node, "C") for node in (root, *nodes)]
        black, white, _ = root.get_setup_stones()
        turn = root.get("PL") if root.has_property("PL") else None
        players = (_sgf_text(root, "PB"), _sgf_text(root, "PW"))
        headers = {name: _sgf_text(root, key) for name, key in SGF_HEADERS.items()}
        result = _sgf_text(root, "RE") or None
        ratings = (_rating(_sgf_text(root, "BR")), _rating(_sgf_text(root, "WR")))
        komi = root.get("KM") if root.has_property("KM") else game.komi
        komi = komi if komi in game.komis else game.komi
        other_rules = _other_rules(root, komi)
    except ValueError as error:
        if isinstance(error, InvalidTextError):
            raise
        why = str(error) or "a property has a value that it cannot have"
        if len(text) > LONGEST_SGF:
            why = f"its first game must end within {LONGEST_SGF:,} characters; {why}"
        raise InvalidTextError(f"go: not a readable SGF game: {why}") from error
    if any(set_up):
        raise TranscriptError(
            "go: the SGF game sets up stones after its start, which is no game that can be read "
            f"(node {set_up.index(True) + 1})",
            "stones set up during the game",
        )
    first = PLAYERS[0]
    if black or white or turn == PLAYERS[1]:
        first = next(
            (colour for colour, _ in moves if colour is not None),
            PLAYERS[bool(black and not white)],
        )
    start = _start_of_sgf(size_in_play, black, white, turn or first)
    if komi != game.komi:
        start = f"{start} {komi_word(komi)}"
    state = game.state_from_text(start)
    start_text = None if start == game.state_to_text(game.initial_state()) else start
    actions: list[int] = []
    kept: list[list[str]] = []  # by move
    for (colour, at), comment in zip(moves, comments, strict=True):
        if colour is None:
            if actions:  # a node without a move comments on the move before it
                kept[-1].append(comment)
            continue
        number = len(actions) + 1
        if colour != PLAYERS[state.player]:
            raise TranscriptError(
                f"go: move {number} of the SGF game must be {PLAYERS[state.player].upper()}'s, "
                f"got {colour.upper()}'s",
                "a move out of turn",
            )
        action = size * size if at is None else (size - 1 - at[0]) * size + at[1]
        try:
            state = game.step(state, action)
        except IllegalActionError as error:
            over = game.is_terminal(state)
            raise TranscriptError(
                f"go: move {number} of the SGF game: {error}",
                "moves after the end" if over else "a move that is not legal",
            ) from error
        actions.append(action)
        kept.append([comment])
    return Transcript(
        actions=actions,
        comments=["\n".join(filter(None, parts)) for parts in kept],
        players=players,
        result=result,
        headers=headers,
        start_text=start_text,
        outcome=_outcome(result or ""),
        ratings=ratings,
        other_rules=other_rules,
    )


def _outcome(result: str) -> int | None:
    """The outcome that a result tells, in Black's view; None: none, or no result."""
    found = RESULT.match(result)
    if found is None:
        return None
    return 0 if found[2] else 1 if found[1].upper() == "B" else -1


def _rating(rank: str) -> float | None:
    """A rank as a number: 3 for 3 dan, 0 for 1 kyu, -9 for 10 kyu, 9 for a professional."""
    found = RANK.match(rank)
    if found is None:
        return None
    number, kind = int(found[1]), found[2].lower()
    return float(PROFESSIONAL if kind == "p" else number if kind == "d" else 1 - number)


def _other_rules(root: Any, komi: float) -> str:
    """In which rules of a file differ from the game's; empty if in none that it names.

    Rules by area agree on who won with the game's, whatever their names.
    """
    if root.has_property("KM") and root.get("KM") != komi:
        return f"komi {root.get('KM'):g}"
    if root.has_property("HA") and root.get("HA") > 1:
        return f"handicap {root.get('HA')}"
    rules_named = _sgf_text(root, "RU").strip()
    if rules_named.lower().startswith(("jap", "kor")):
        return f"{rules_named[:20].capitalize()} rules"
    return ""


def _sgf_text(node: Any, key: str) -> str:
    return str(node.get(key)) if node.has_property(key) else ""


def _start_of_sgf(size: int, black: set[Any], white: set[Any], turn: str) -> str:
    """The position of the set-up stones, as text for `state_from_text`."""
    rows = [["."] * size for _ in range(size)]
    for stone, points in zip(STONES[1:], (black, white), strict=True):
        for row, column in points:
            rows[size - 1 - row][column] = stone
    return "/".join("".join(row) for row in rows) + f" {turn}"
