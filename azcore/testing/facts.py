"""Checks of facts that a game's author states about one position."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from azcore.errors import IllegalActionError
from azcore.game import Game
from azcore.testing.contract import ContractError, Identity
from azcore.testing.view import drawn, legal_texts, view_of


def check_position(
    game: Game,
    *,
    text: str | None = None,
    moves: Sequence[str] = (),
    player: int | None = None,
    legal: Collection[str] | None = None,
    illegal: Collection[str] = (),
    terminal: bool | None = None,
    outcome: int | None = None,
    planes: Mapping[int, npt.ArrayLike] | None = None,
) -> Any:
    """Check facts that the author knows about one position; omitted ones are not checked.

    Args:
        text: the position to start from, as `state_from_text` reads it; None: the initial one.
        moves: texts of the actions played from there.
        player: the seat to move.
        legal: texts of all legal actions.
        illegal: texts that the game must refuse as illegal.
        terminal: whether the game is over.
        outcome: -1, 0 or +1, view of seat 0; the game must be over.
        planes: some planes of the observation, each [H, W], by index.

    Returns:
        The state, for further checks.

    Raises:
        ContractError: a fact does not hold.
        AzcoreError: `text` or `moves` cannot be read.
    """
    state = game.initial_state() if text is None else game.state_from_text(text)
    for move in moves:
        state = game.step(state, game.text_to_action(state, move))
    view = view_of(game, state)

    def expect(what: str, got: Any, want: Any) -> None:
        if got != want:
            raise ContractError(
                Identity.POSITION,
                f"{game.name}, '{Identity.POSITION.value}': {what} is {got}, want {want}\n"
                f"after {' '.join(moves) or '(no action)'}\n{drawn(game, state)}",
            )

    if player is not None:
        expect("current_player", view.current_player, player)
    if legal is not None:
        expect("the list of legal actions", sorted(legal_texts(game, state, view)), sorted(legal))
    for move in illegal:
        try:
            game.text_to_action(state, move)
        except IllegalActionError:
            continue
        expect(f"action {move}", "legal", "illegal")
    if terminal is not None or outcome is not None:
        expect("is_terminal", view.is_terminal, terminal is not False)
    if outcome is not None:
        expect("outcome", view.outcome, outcome)
    for plane, want in (planes or {}).items():
        wanted = np.asarray(want, np.float32)
        if not np.array_equal(view.observation[plane], wanted):
            expect(f"plane {plane}", f"\n{view.observation[plane]}\n", f"\n{wanted}")
    return state
