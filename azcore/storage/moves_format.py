"""The transcript format of games without their own: a line of JSON per game.

    {"game": {"name": ..., "version": ..., "settings": {...}}, "moves": ["b2", "a1"], ...}

Moves are the texts of actions, so a file is short, easy to read for other programs, and works for
every game. It omits empty parts: `start` (text of a position), `players`, `headers`, `comments`
(one a move) and `result`.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NoReturn

from azcore.errors import AzcoreError, InvalidTextError
from azcore.game.contract import Game
from azcore.game.transcript import HEADERS, GameText, Transcript, TranscriptFormat

NAME = "json"
AGREED = "draw agreed"
_KEYS = {"game", "start", "moves", "players", "headers", "comments", "result"}


def moves_format(game: Game) -> TranscriptFormat:
    """The format for a game, as `Game.transcript_formats` would return it."""
    return TranscriptFormat(
        suffix=".json",
        write=partial(_write, game),
        read=partial(_read, game),
        resignation=partial(_resignation, game),
        draw=AGREED,
        games=_games,
        other_suffixes=(".jsonl",),
        encodings=("utf-8",),
    )


def _resignation(game: Game, seat: int) -> str:
    return f"{game.seat_names[seat]} resigned"


def _write(game: Game, transcript: Transcript) -> str:
    state = _started(game, transcript.start_text)
    moves = []
    for action in transcript.actions:
        following = game.step(state, action)  # refuses illegal actions
        moves.append(game.action_to_text(state, action))
        state = following
    result = transcript.result
    if result is None and game.is_terminal(state):
        result = game.result_text(state)
    _outcome_of(game, state, result)
    parts: dict[str, Any] = {
        "game": game.identity,
        "start": transcript.start_text,
        "players": list(transcript.players) if any(transcript.players) else None,
        "headers": dict(transcript.headers) or None,
        "moves": moves,
        "comments": list(transcript.comments) if any(transcript.comments) else None,
        "result": result,
    }
    kept = {name: part for name, part in parts.items() if part is not None}
    return json.dumps(kept, ensure_ascii=False) + "\n"


def _read(game: Game, text: str) -> Transcript:
    parts = _parts(game, text)
    players = parts.get("players", ["", ""])
    state = _started(game, parts.get("start"))
    actions = []
    for ply, move in enumerate(parts["moves"]):
        try:
            actions.append(game.text_to_action(state, move))
            state = game.step(state, actions[-1])
        except AzcoreError as error:
            _refuse(game, f"move {ply + 1}: {error}")
    result = parts.get("result")
    if result is None and game.is_terminal(state):
        result = game.result_text(state)
    outcome = _outcome_of(game, state, result)
    try:
        return Transcript(
            actions=actions,
            comments=parts.get("comments", []),
            players=(players[0], players[1]),
            result=result,
            headers=parts.get("headers", {}),
            start_text=parts.get("start"),
            outcome=outcome,
        )
    except InvalidTextError as error:
        _refuse(game, str(error))


def _parts(game: Game, text: str) -> dict[str, Any]:
    """The first game of a text, in parts of the right form."""
    line = next(filter(str.strip, text.lstrip("\ufeff").split("\n")), "")
    try:
        parts = json.loads(line)
    except (ValueError, RecursionError):
        _refuse(game, f"a game is a line of JSON, got {line[:40]!r}")
    if not isinstance(parts, dict) or not {"game", "moves"} <= parts.keys() <= _KEYS:
        _refuse(game, f"a game has the parts {', '.join(sorted(_KEYS))}, got {line[:40]!r}")
    identity = parts["game"]
    named = isinstance(identity, dict) and set(identity) == set(game.identity)
    if not (named and game.is_played_as(identity)):
        _refuse(game, f"a game must be of {game.identity}, got {str(identity)[:200]}")
    for name, good in (
        ("moves", _are_texts(parts["moves"])),
        ("comments", _are_texts(parts.get("comments", []))),
        ("players", _are_texts(parts.get("players", ["", ""]), 2)),
        ("start", isinstance(parts.get("start", ""), str)),
        ("result", isinstance(parts.get("result", ""), str)),
    ):
        if not good:
            _refuse(game, f"{name} must be text, got {str(parts[name])[:40]!r}")
    headers = parts.get("headers", {})
    if not (isinstance(headers, dict) and _are_texts(list(headers.values()))):
        _refuse(game, f"headers must be texts for {', '.join(HEADERS)}, got {str(headers)[:40]!r}")
    return parts


def _are_texts(values: Any, count: int | None = None) -> bool:
    if not isinstance(values, list) or (count is not None and len(values) != count):
        return False
    return all(isinstance(value, str) for value in values)


def _started(game: Game, start: str | None) -> Any:
    if start is None:
        return game.initial_state()
    try:
        return game.state_from_text(start)
    except InvalidTextError as error:
        _refuse(game, f"the start: {error}")


def _outcome_of(game: Game, state: Any, result: str | None) -> int | None:
    """The winner by a result, view of seat 0; None: the game is not over."""
    if game.is_terminal(state):
        by_rules = game.result_text(state)
        if result != by_rules:
            _refuse(game, f"the game is over, so its result must be {by_rules!r}, got {result!r}")
        return game.outcome(state)
    known = {None: None, AGREED: 0, _resignation(game, 0): -1, _resignation(game, 1): 1}
    if result not in known:
        words = ", ".join(repr(word) for word in known if word)
        _refuse(game, f"the game is not over, so its result must be {words}, got {result!r}")
    return known[result]


def _games(lines: Iterable[str]) -> Iterator[str]:
    """The lines that hold a game; long ones may come in pieces."""
    text = GameText()
    for piece in lines:
        text.add(piece)
        if piece.endswith("\n") and (game := text.take()).strip():
            yield game
    if (game := text.take()).strip():
        yield game


def _refuse(game: Game, what: str) -> NoReturn:
    raise InvalidTextError(f"{game.name}: {what}")
