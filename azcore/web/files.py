"""Games as text: what a visitor pastes, what the page saves, and the tree of variations in both.

The page keeps the tree, and the room one of its lines. In requests and messages a tree is a list of
lines in the order of a walk through it, the main line first. Each line states how many plies it
shares with the line before it; for the first, that is the line in the room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azcore.engine.thought import Line, shared_plies
from azcore.errors import AzcoreError, TranscriptError
from azcore.game import Branch, Game, Transcript
from azcore.game.transcript import MOST_IN_VARIATIONS, branches_of
from azcore.storage.positions import UNREADABLE, read_position
from azcore.storage.transcripts import conceded, format_named, formats_of
from azcore.web import view
from azcore.web.requests import RefusedError, play_texts, ply_of, seat_of
from azcore.web.review import up_to
from azcore.web.view import Plain


@dataclass(frozen=True)
class Kept:
    """A line of the tree."""

    line: Line
    resigned: int | None = None  # the seat that resigned at its end


def tree_of_request(request: Mapping[str, Any], current: Line) -> list[Kept]:
    """The lines of a request's tree, empty if it has none.

    Raises:
        AzcoreError: it is not a tree of legal moves, or has too many of them.
    """
    texts = request.get("lines", [])
    if not isinstance(texts, list) or not all(isinstance(each, Mapping) for each in texts):
        raise RefusedError("lines must be a list of a tree's lines")
    kept: list[Kept] = []
    # The page refuses more variations of the visitor, but not the engine's moves in them.
    room = 4 * MOST_IN_VARIATIONS + 2 * current.game.max_game_length
    line = current
    for each in texts:
        moves = each.get("moves", [])
        room -= len(moves) if isinstance(moves, list) else 0
        if len(kept) > MOST_IN_VARIATIONS or room < 0:
            raise RefusedError("the tree has too many moves")
        line = up_to(line, ply_of(each.get("ply"), line))
        play_texts(line, moves)
        kept.append(Kept(line, seat_of(each.get("resigned"))))
    return kept


def tree_message(kept: Sequence[Kept]) -> Plain:
    """The tree for the page, with each move as text, as people write it, and as an action."""
    lines: list[Plain] = []
    before: Sequence[int] = ()
    for each in kept:
        line, game = each.line, each.line.game
        ply = shared_plies(before, line.actions)
        before = line.actions
        states, actions = line.states[ply:], line.actions[ply:]
        lines.append(
            {
                "ply": ply,
                "actions": actions,
                "moves": view.notations(game, states, actions),
                "texts": view.texts(game, states, actions),
                "movers": view.movers(game, states),
                "resigned": each.resigned,
            }
        )
    return {"what": "tree", "lines": lines}


@dataclass(frozen=True)
class Pasted:
    """What a pasted text holds."""

    kept: Sequence[Kept]  # the tree, the main line first
    notes: str = ""  # what of it could not be read, as a sentence


def paste(game: Game, text: str) -> Pasted:
    """A position, or a game in any format.

    Raises:
        RefusedError: it is neither.
    """
    if not text:
        raise RefusedError("the text is empty")
    try:
        given = read_position(game, text)
        return Pasted([Kept(_line(game, given.text, given.actions))])
    except UNREADABLE as error:
        why = [f"as a position: {error}"]
    for name, form in formats_of(game).items():
        notes = ""
        try:
            try:
                found = form.read(text)
            except TranscriptError as error:
                found, notes = error.before, f"read up to an error: {error}"
                if found is None or not found.actions:
                    raise
            main = _line(game, found.start_text, found.actions)
        except AzcoreError as error:
            why.append(f"as {name.upper()}: {error}")
        else:
            notes = notes or "; ".join(f"left out: {part}" for part in found.left_out)
            return Pasted([*map(Kept, _lines(main, found.variations))], notes)
    raise RefusedError("cannot read this text; " + "; ".join(why))


def _line(game: Game, start: str | None, actions: Sequence[int]) -> Line:
    line = Line(game, start)
    for action in actions:
        line.play(action)
    return line


def _lines(main: Line, branches: Sequence[Branch]) -> list[Line]:
    lines = [main]
    for branch in branches:
        line = up_to(lines[-1], branch.ply)
        for action in branch.actions:
            line.play(action)
        lines.append(line)
    return lines


def file_message(kept: Sequence[Kept], name: object, people: Sequence[int]) -> Plain:
    """The file of a tree, in a format of the game.

    Args:
        kept: the lines, the main one first.
        name: the format's, from a request.
        people: the seats of persons.

    Raises:
        AzcoreError: there is no such format, or it cannot express the game.
    """
    (main, *others), game = kept, kept[0].line.game
    form = format_named(game, name if isinstance(name, str) else None)
    names = ["a person" if seat in people else "azcore" for seat in (0, 1)]
    result = None
    if main.resigned is not None:
        result = conceded(form, main.resigned, main.line.player)
    transcript = Transcript(
        actions=main.line.actions,
        players=(names[0], names[1]),
        result=result,
        start_text=main.line.start_text,
        variations=branches_of(main.line.actions, [each.line.actions for each in others]),
    )
    note = ""
    if others and not form.has_variations:
        label = name.upper() if isinstance(name, str) else "this"
        note = f"a {label} file holds only the main line; Copy link keeps the rest"
    text = form.write(transcript)
    return {"what": "file", "name": f"{game.name}{form.suffix}", "text": text, "note": note}
