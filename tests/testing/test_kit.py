"""The kit for authors of games: it passes what is right, and names what is planted wrong.

Each mutant changes one thing of a game that keeps the contract. The test asserts which identity the
kit names, not only that it complains.
"""

import dataclasses
import re

import numba
import numpy as np
import pytest

import azcore
from azcore.errors import IllegalActionError, InvalidTextError
from azcore.game import Piece, Symmetry
from azcore.game.compiled import rule_signatures
from azcore.testing import (
    ContractError,
    Identity,
    check_game,
    check_playthrough,
    check_position,
    random_game,
    random_states,
    record_playthrough,
)
from azcore.testing.checker import Checker
from azcore.testing.texts import StateTexts

INTERPRETED = bool(numba.config.DISABLE_JIT)

PLAIN = type(azcore.make("tic_tac_toe_plain"))
COMPILED = type(azcore.make("tic_tac_toe"))
LAYOUT = azcore.make("tic_tac_toe").board(azcore.make("tic_tac_toe").initial_state()).layout

# Colours swapped on a board of X and O with the player to move as its second word.
SWAP = str.maketrans("XObw", "OXwb")


def mutant(base=PLAIN, **changes):
    """A game of class `base` with methods replaced; other names are set on the finished game."""
    methods = {name: change for name, change in changes.items() if callable(change)}
    game = type("Mutant", (base,), methods)()
    for name in changes.keys() - methods.keys():
        setattr(game, name, changes[name])
    return game


def with_rule(game, **changed):
    """`game` with one compiled rule replaced."""
    signatures = rule_signatures(game.state_type)
    compiled = {name: numba.njit(signatures[name], nogil=True)(f) for name, f in changed.items()}
    game.rules = dataclasses.replace(game.rules, **compiled)
    return game


def broken(game, identity, *words, **options):
    """The kit must name `identity` for this game, and say `words`."""
    with pytest.raises(ContractError) as caught:
        check_game(game, **{"num_positions": 400, **options})
    assert caught.value.identity is identity, str(caught.value)
    for word in (game.name, identity.value, *words):
        assert word in str(caught.value)
    return str(caught.value)


# -- games that keep the contract ----------------------------------------------------------------


@pytest.mark.parametrize("base", [PLAIN, COMPILED])
def test_games_begin_in_the_start_states(base):
    """A corner is its own image under one reflection of seven, and the last start under none."""
    reports = [
        check_game(mutant(base, start_states=starts(*texts)), num_positions=200, oracle=PLAIN())
        for texts in ((".../.../... x",), ("X../.../... o",), (".../.../... x", "XO./.../... x"))
    ]
    whole, corner, two = reports
    assert whole.longest == 9
    assert max(corner.mean_length, two.mean_length) < whole.mean_length
    assert whole.checks[Identity.SYMMETRY] > two.checks[Identity.SYMMETRY] > 0
    assert corner.checks[Identity.SYMMETRY] > 0


def begun(start):
    """A game whose first position is not symmetric, and what its mirror image is said to be."""
    mirrored = np.fliplr(np.arange(9, dtype=np.int32).reshape(3, 3)).ravel()
    return mutant(
        initial_state=lambda self: self.state_from_text("XO./.../... x"),
        symmetries=(Symmetry(cells=mirrored, actions=mirrored, start=start),),
    )


def test_a_first_position_may_map_to_another():
    report = check_game(begun(".OX/.../... x"), num_positions=200)
    assert report.checks[Identity.SYMMETRY] >= 200


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (None, "must map the first position to itself"),
        ("OX./.../... x", "must map the first position to OX./.../... x"),
        ("somewhere", "state_from_text raised InvalidTextError"),
    ],
)
def test_what_a_first_position_maps_to_must_be_its_image(start, words):
    broken(begun(start), Identity.SYMMETRY, words)


@pytest.mark.rules
@pytest.mark.parametrize("name", ["tic_tac_toe", "tic_tac_toe_plain"])
def test_good_games_pass(name):
    report = check_game(azcore.make(name), num_positions=1000)
    assert report.positions >= 1000
    assert report.games == report.seat_0_wins + report.draws + report.seat_1_wins
    assert report.seat_0_wins > report.seat_1_wins > 0
    assert 5 <= report.mean_length <= report.longest == 9
    for identity in (Identity.SYMMETRY, Identity.BATCH, Identity.GARBAGE):
        assert report.checks[identity] > 100
    compiled_alone = (Identity.INTERPRETED, Identity.BOUNDS)
    assert (report.checks.get(Identity.BOUNDS, 0) > 0) == (name == "tic_tac_toe")
    lines = str(report).splitlines()
    assert lines[0].startswith(f"{name} version 1")
    for identity in compiled_alone:
        line = next(line for line in lines if identity.value in line)
        assert ("not checked" in line) == (identity not in report.checks)


@pytest.mark.rules
def test_an_oracle_is_played_alongside():
    report = check_game(COMPILED(), oracle=PLAIN(), num_positions=300)
    assert report.checks[Identity.ORACLE] == report.positions + report.games  # and how each ended


def test_an_oracle_with_other_action_numbers_is_compared_by_text():
    class Renumbered(PLAIN):
        """Ten actions, of which the first means nothing."""

        board = azcore.Game.board  # none, whose actions would have other numbers

        def __init__(self):
            super().__init__()
            self.num_actions, self.symmetries = 10, ()

        def legal_action_mask(self, state):
            return np.append(False, super().legal_action_mask(state))

        def step(self, state, action):
            if not 0 < action < 10 or not self.legal_action_mask(state)[action]:
                raise IllegalActionError("not legal")
            return state[: action - 1] + "XO"[self.current_player(state)] + state[action:]

        def action_to_text(self, state, action):
            return super().action_to_text(state, action - 1) if action else "nothing"

        def text_to_action(self, state, text):
            return PLAIN().text_to_action(state, text) + 1

    report = check_game(Renumbered(), oracle=COMPILED(), num_positions=200)
    assert report.checks[Identity.ORACLE] >= report.positions
    broken(mutant(legal_action_mask=mask_rolled), Identity.ORACLE, "lacks", oracle=Renumbered())


@pytest.mark.parametrize("board_size", [pytest.param(5, marks=pytest.mark.rules), 9])
def test_go_passes(board_size):
    positions = 40 if INTERPRETED else 100
    report = check_game(
        azcore.make("go", board_size=board_size),
        num_positions=positions,
        swap_colours=lambda text: text.translate(SWAP),
        colour_planes={16},  # says whether Black is to move
    )
    assert report.checks[Identity.VIEW] >= report.positions


def test_same_seed_same_report():
    reports = [check_game(PLAIN(), num_positions=100, seed=seed) for seed in (3, 3, 4)]
    assert reports[0] == reports[1] != reports[2]


def test_random_games_end_and_repeat():
    game = PLAIN()
    first, again = (random_game(game, np.random.default_rng(5)) for _ in range(2))
    assert first == again
    state = game.initial_state()
    for action in first:
        state = game.step(state, action)
    assert game.is_terminal(state)
    states = random_states(game, 50, np.random.default_rng(5))
    assert len(states) == 50
    assert states[0] == game.initial_state()
    assert states[len(first)] == state
    with pytest.raises(ContractError, match="no end after 4 plies"):
        random_game(mutant(max_game_length=4), np.random.default_rng(5))


# -- faults that one game shows by itself --------------------------------------------------------


def mask_open_at_the_end(self, state):
    return np.array([cell == "." for cell in state])


def mask_empty_too_early(self, state):
    return PLAIN.legal_action_mask(self, state) & (state.count(".") > 2)


def mask_rolled(self, state):
    return np.roll(PLAIN.legal_action_mask(self, state), 1)


def mask_with_an_occupied_cell(self, state):
    mask = PLAIN.legal_action_mask(self, state)
    return mask | (np.arange(9) == 4) & mask.any()


def mask_of_integers(self, state):
    return PLAIN.legal_action_mask(self, state).astype(np.int8)


def step_without_a_check(self, state, action):
    return state[:action] + "XO"[self.current_player(state)] + state[action + 1 :]


def step_with_another_error(self, state, action):
    if not 0 <= action < 9:
        raise IndexError(action)
    return PLAIN.step(self, state, action)


def step_that_refuses_a_corner(self, state, action):
    if action == 0 and state[4] != ".":
        raise IllegalActionError("no corner")
    return PLAIN.step(self, state, action)


def seat_one_begins(self, state):
    return 1 - PLAIN.current_player(self, state)


def seat_as_colour(self, state):
    return 2 - PLAIN.current_player(self, state) if "X" in state else 0


def outcome_doubled(self, state):
    return 2 * PLAIN.outcome(self, state)


def observation_in_doubles(self, state):
    return PLAIN.observation(self, state).astype(np.float64)


def observation_flat(self, state):
    return PLAIN.observation(self, state).reshape(2, 9)


def observation_divided_by_zero(self, state):
    planes = PLAIN.observation(self, state)
    return planes if planes.any() else planes + np.float32("nan")


def observation_that_counts_calls(self, state):
    self.calls = getattr(self, "calls", 0) + 1
    return PLAIN.observation(self, state) * np.float32(self.calls // 2 % 2)


def observation_in_halves(self, state):
    return PLAIN.observation(self, state) / 2


def observation_of_counts(self, state):
    return PLAIN.observation(self, state) * np.float32(9 - state.count("."))


def termination_in_two_lines(self, state):
    return "three in\na row"


def observation_in_one_buffer(self, state):
    self.buffer = getattr(self, "buffer", np.zeros((2, 3, 3), np.float32))
    self.buffer[:] = PLAIN.observation(self, state)
    return self.buffer


def text_upside_down(self, state, action):
    return "abc"[action % 3] + "123"[action // 3]


def text_of_the_column(self, state, action):
    return "abc"[action % 3]


def text_read_kindly(self, state, text):
    return PLAIN.text_to_action(self, state, text.strip("?"))


def text_read_in_haste(self, state, text):
    return "321".index(text[1]) * 3 + "abc".index(text[0])


def text_of_an_illegal_action(self, state, text):
    try:
        return PLAIN.text_to_action(self, state, text)
    except IllegalActionError:
        return "321".index(text[1]) * 3 + "abc".index(text[0])


def state_text_without_a_corner(self, state):
    return "." + PLAIN.state_to_text(self, state)[1:]


def state_text_of_the_other_seat(self, state):
    return PLAIN.state_to_text(self, state)[:-1] + "ox"[self.current_player(state)]


def state_read_kindly(self, text):
    return PLAIN.state_from_text(self, text.rstrip("?"))


def state_read_when_cut(self, text):
    if len(text) < 11:
        text += ".../.../..."[len(text) :]
        text += " o" if text.count("X") > text.count("O") else " x"
    return PLAIN.state_from_text(self, text)


def state_read_into_nine_cells(self, text):
    if re.fullmatch("[.XO]{3,}/[.XO]{3,}/[.XO]{3,} [xo]", text):
        np.zeros(9, np.int8)[:] = [".XO".index(cell) for cell in text[:-2].replace("/", "")]
    return PLAIN.state_from_text(self, text)


def state_read_with_a_table_of_seats(self, text):
    if re.fullmatch("[.XO/]{11} [xo]+", text):
        {"x": 0, "o": 1}[text[12:]]
    return PLAIN.state_from_text(self, text)


def state_of_nothing_when_a_row_is_short(self, text):
    if re.fullmatch("[.XO]{1,3}/[.XO]{1,3}/[.XO]{1,2} [xo]", text):
        return None
    return PLAIN.state_from_text(self, text)


def text_read_with_a_long_row(self, state, text):
    if re.fullmatch("[abc][1-9]+", text):
        "321".index(text[1:])
    return PLAIN.text_to_action(self, state, text)


def with_score(points):
    """A game whose score of an end is so many points for each stone on the board, and 1."""

    def score(self, state):
        stones = int(self.observation(state).sum())
        return float(PLAIN.outcome(self, state)) * (1 + points * stones)

    return {"score": score, "score_maximum": 10.0}


def owner_of_stones(self, state):
    planes = self.observation(state)
    mine = 1 if self.current_player(state) == 0 else -1
    return (mine * (planes[0] - planes[1])).astype(np.int8)


def turned(cells=1, actions=1):
    grid = np.arange(9, dtype=np.int32).reshape(3, 3)
    quarter = Symmetry(cells=np.rot90(grid, cells).ravel(), actions=np.rot90(grid, actions).ravel())
    return (*PLAIN().symmetries[:2], quarter)


PLACES = tuple(LAYOUT.places)


def changed_board(**changes):
    """The method `board` with parts replaced by functions of the board, until the game is over."""

    def board(self, state):
        right = PLAIN.board(self, state)
        if right.to_move is None:
            return right
        parts = {name: change(right) for name, change in changes.items()}
        return dataclasses.replace(right, **parts)

    return board


def paths_of_growing_length(board):
    return {action: PLACES[: i + 1] for i, action in enumerate(board.actions)}


def layout_after(plies):
    return dataclasses.replace(LAYOUT, labelled=("left",) if plies == 2 else ("right",))


def starts(*texts):
    """Games of self-play begin in these positions."""
    return lambda self: [self.state_from_text(text) for text in texts]


ALONE = {
    "no start states": ({"start_states": starts()}, Identity.FACTS, "a list of one or more"),
    "over at a start": (
        {"start_states": starts(".../.../... x", "XXX/OO./... o")},
        Identity.FACTS,
        "the game is over in one of start_states",
    ),
    "terminal state with legal actions": (
        {"legal_action_mask": mask_open_at_the_end},
        Identity.OVER_OR_LEGAL,
        "is_terminal is True with legal actions [",
    ),
    "open state without legal actions": (
        {"legal_action_mask": mask_empty_too_early},
        Identity.OVER_OR_LEGAL,
        "is_terminal is False with legal actions []",
    ),
    # Stones upon stones: the moves show the same cell twice, before any symmetry is blamed.
    "mask off by one": ({"legal_action_mask": mask_rolled}, Identity.LENGTH, "no end after 9"),
    "mask includes an occupied cell": (
        # The limit is far off: stones put on one's own leave the board as it was.
        {
            "legal_action_mask": mask_with_an_occupied_cell,
            "max_game_length": 40,
            "board": azcore.Game.board,  # none: it would give the fault away at once
        },
        Identity.STATE_TEXT,
        "raised",
    ),
    "mask of integers": ({"legal_action_mask": mask_of_integers}, Identity.MASK, "int8"),
    "step refuses nothing": ({"step": step_without_a_check}, Identity.STEP, "IllegalActionError"),
    "step raises another error": ({"step": step_with_another_error}, Identity.STEP, "IndexError"),
    "step refuses a legal action": (
        {"step": step_that_refuses_a_corner},
        Identity.STEP,
        "legal action 0 raised IllegalActionError: no corner",
    ),
    "seat 1 begins": ({"current_player": seat_one_begins}, Identity.FACTS, "want seat 0"),
    "seats 1 and 2": ({"current_player": seat_as_colour}, Identity.SEAT, "got 2"),
    "outcome out of range": ({"outcome": outcome_doubled}, Identity.OUTCOME, "got"),
    "score of the loser": (
        {**with_score(0), "score": lambda self, state: -float(PLAIN.outcome(self, state))},
        Identity.ENDS,
        "but the outcome",
    ),
    "score above its maximum": (with_score(2), Identity.ENDS, "want a number from -10.0 to 10.0"),
    "score of a text": (
        {**with_score(0), "score": lambda self, state: "B+1"},
        Identity.ENDS,
        "score is 'B+1', want a number",
    ),
    "score without its maximum": (
        {"score": lambda self, state: float(PLAIN.outcome(self, state))},
        Identity.ENDS,
        "score_maximum is None, but there is a method score",
    ),
    "a maximum of no score": (
        {"score_maximum": 10.0},
        Identity.ENDS,
        "score_maximum is 10.0, but there is no method score",
    ),
    "material beyond everything": (
        {"material": lambda self, state: 1.5},
        Identity.ENDS,
        "material is 1.5, want a number from -1 to 1",
    ),
    "material of a text": (
        {"material": lambda self, state: "a rook"},
        Identity.ENDS,
        "material is 'a rook', want a number from -1 to 1",
    ),
    "material that is no number": (
        {"material": lambda self, state: float("nan")},
        Identity.ENDS,
        "material is nan, want a number from -1 to 1",
    ),
    "material of a corner": (
        {"material": lambda self, state: float(self.observation(state)[0, 0, 0])},
        Identity.ENDS,
        "has material",
    ),
    "ownership doubled": (
        {"ownership": lambda self, state: 2 * owner_of_stones(self, state)},
        Identity.ENDS,
        "ownership must be -1, 0 or 1",
    ),
    "ownership in doubles": (
        {"ownership": lambda self, state: owner_of_stones(self, state).astype(float)},
        Identity.ENDS,
        "got float64 (3, 3), want int8 (3, 3)",
    ),
    "ownership that does not turn": (
        {"ownership": lambda self, state: np.triu(owner_of_stones(self, state))},
        Identity.ENDS,
        "does not map the ownership",
    ),
    "no board at times": (
        {"board": lambda self, state: None if "O" in state else PLAIN.board(self, state)},
        Identity.BOARD,
        "got NoneType, want a Board for every state",
    ),
    "a piece off the board": (
        {"board": changed_board(pieces=lambda board: (Piece("d4", 0, "X"),))},
        Identity.BOARD,
        "the place of a piece must be a place, a3 to c1, got 'd4'",
    ),
    "two actions by one path": (
        {"board": changed_board(actions=lambda board: dict.fromkeys(board.actions, ("b2",)))},
        Identity.BOARD,
        "a path of clicks must be that of one action",
    ),
    "a path that begins another": (
        {"board": changed_board(actions=paths_of_growing_length)},
        Identity.BOARD,
        "must be no prefix of another",
    ),
    "an action that cannot be clicked": (
        {"board": changed_board(actions=lambda board: dict(list(board.actions.items())[1:]))},
        Identity.BOARD,
        "a3 (action 0) cannot be clicked",
    ),
    "a click on what is not legal": (
        {"board": changed_board(actions=lambda board: {i: (p,) for i, p in enumerate(PLACES)})},
        Identity.BOARD,
        "can be clicked, but is not legal",
    ),
    "a board of the other seat": (
        {"board": changed_board(to_move=lambda board: 1 - board.to_move)},
        Identity.BOARD,
        "to_move is 1, want 0",
    ),
    "a piece left out": (
        {"board": changed_board(pieces=lambda board: board.pieces[1:])},
        Identity.BOARD,
        "has the pieces of .../.../...",
    ),
    "a layout that changes": (
        {"board": changed_board(layout=lambda board: layout_after(len(board.pieces)))},
        Identity.BOARD,
        "the layout is not the one of the game's first position",
    ),
    "game longer than it says": ({"max_game_length": 6}, Identity.LENGTH, "no end after 6 plies"),
    "observation of wrong dtype": (
        {"observation": observation_in_doubles},
        Identity.OBSERVATION,
        "got float64 (2, 3, 3), want float32 (2, 3, 3)",
    ),
    "observation of wrong shape": (
        {"observation": observation_flat},
        Identity.OBSERVATION,
        "got float32 (2, 9)",
    ),
    "observation with NaN": (
        {"observation": observation_divided_by_zero},
        Identity.OBSERVATION,
        "18 values are bad",
    ),
    "observation of fractions": (
        {"observation": observation_in_halves},
        Identity.OBSERVATION,
        "holds 0.5, want 0 to 1",
    ),
    "observation above its maximum": (
        {"observation": observation_of_counts},
        Identity.OBSERVATION,
        "holds 2.0, want 0 to 1",
    ),
    "termination in two lines": (
        {"termination": termination_in_two_lines},
        Identity.OUTCOME,
        "termination is 'three in\\na row'",
    ),
    "observation changes from call to call": (
        {"observation": observation_that_counts_calls},
        Identity.STEADY,
        "seen a second time: observation at plane",
    ),
    "observation overwritten by the next": (
        {"observation": observation_in_one_buffer},
        Identity.STEADY,
        "changed later",
    ),
    "action text means another action": (
        {"action_to_text": text_upside_down},
        Identity.ACTION_TEXT,
        "want",
    ),
    "two actions with one text": (
        {"action_to_text": text_of_the_column},
        Identity.ACTION_TEXT,
        "are both",
    ),
    "text of an illegal action accepted": (
        {"text_to_action": text_of_an_illegal_action, "step": step_without_a_check},
        Identity.STEP,
        "",
    ),
    "illegal text read as an action": (
        {"text_to_action": text_of_an_illegal_action},
        Identity.ACTION_TEXT,
        "not legal",
    ),
    "garbage read as an action": (
        {"text_to_action": text_read_kindly},
        Identity.GARBAGE,
        "text_to_action of '",
    ),
    "garbage raises another error": (
        {"text_to_action": text_read_in_haste},
        Identity.GARBAGE,
        "raised IndexError",
    ),
    "state text forgets a stone": (
        {"state_to_text": state_text_without_a_corner},
        Identity.STATE_TEXT,
        "state_from_text of '.",
    ),
    "state text names the wrong seat": (
        {"state_to_text": state_text_of_the_other_seat},
        Identity.STATE_TEXT,
        "raised",
    ),
    "garbage read as a state": (
        {"state_from_text": state_read_kindly},
        Identity.GARBAGE,
        "state_from_text of '.../.../... x?' gave",
    ),
    "cut text read as a state": (
        {"state_from_text": state_read_when_cut},
        Identity.GARBAGE,
        "gave",
    ),
    "state text with a row too long raises another error": (
        {"state_from_text": state_read_into_nine_cells},
        Identity.GARBAGE,
        "raised ValueError",
    ),
    "state text with a seat doubled raises another error": (
        {"state_from_text": state_read_with_a_table_of_seats},
        Identity.GARBAGE,
        "raised KeyError",
    ),
    "state text with a row too short is read as None": (
        {"state_from_text": state_of_nothing_when_a_row_is_short},
        Identity.GARBAGE,
        "gave None",
    ),
    "action text with a digit doubled raises another error": (
        {"text_to_action": text_read_with_a_long_row},
        Identity.GARBAGE,
        "raised ValueError",
    ),
    "symmetry of other actions": (
        {"symmetries": turned(actions=3)},
        Identity.SYMMETRY,
        "symmetry 2: ",
    ),
    "symmetry of other cells": (
        {"symmetries": turned(cells=3)},
        Identity.SYMMETRY,
        "symmetry 2: observation at",
    ),
    "symmetry that moves nothing": ({"symmetries": turned(0, 0)}, Identity.FACTS, "3 symmetries"),
    "name with a blank": ({"name": "two words"}, Identity.FACTS, "lower-case"),
    "settings that are not plain": ({"settings": {"rules": {1, 2}}}, Identity.FACTS, "JSON"),
}


@pytest.mark.parametrize("fault", ALONE)
def test_the_kit_names_a_planted_fault(fault):
    changes, identity, words = ALONE[fault]
    broken(mutant(**changes), identity, words)


def test_an_error_shows_the_way_and_the_board():
    text = broken(mutant(legal_action_mask=mask_empty_too_early), Identity.OVER_OR_LEGAL)
    lines = text.splitlines()
    assert lines[1].startswith("after ")
    assert len(lines[1].split()) == 1 + 7  # seven stones, named in order
    assert [line[:1] for line in lines[2:]] == ["3", "2", "1", " "]


def test_a_state_changed_by_step_is_seen():
    def step_in_place(self, state, action):
        COMPILED.step(self, state, action)  # refuses what is illegal
        self.rules.step(state, action)
        return state.copy()

    broken(mutant(COMPILED, step=step_in_place), Identity.UNTOUCHED, "changed its argument")


def test_a_plain_state_changed_later_is_seen():
    class History(PLAIN):
        """States share one list of actions, so the old ones grow with the new."""

        def initial_state(self):
            return ("." * 9, [])

        def observation(self, state):
            return PLAIN().observation(state[0]) + np.float32(len(state[1]))

        def step(self, state, action):
            successor = PLAIN().step(state[0], action)
            state[1].append(action)
            return (successor, state[1])

    for method in ("current_player", "legal_action_mask", "is_terminal", "outcome", "render"):
        setattr(History, method, lambda self, state, m=method: getattr(PLAIN(), m)(state[0]))
    for method in ("action_to_text", "text_to_action"):
        setattr(History, method, lambda self, state, x, m=method: getattr(PLAIN(), m)(state[0], x))
    broken(History(), Identity.UNTOUCHED, "observation")


class Moves(PLAIN):
    """Tic-tac-toe whose positions are told by the moves so far, in one word."""

    def state_to_text(self, state):
        return ",".join(["moves", *state])

    def state_from_text(self, text):
        first, *moves = text.split(",")
        if first != "moves" or not all(re.fullmatch("[abc][123]", move) for move in moves):
            raise InvalidTextError("no moves")
        return tuple(moves)


def test_a_text_that_holds_the_moves_may_be_cut_between_them():
    game = Moves()
    checker = Checker(game, np.random.default_rng(1))
    texts = StateTexts(checker, None, ())
    for cut in ("moves", "moves,b2", "moves,b2,a1", "moves,b2,", "moves,b2,a", "mov", ""):
        texts._check_cut(cut)
    game.state_from_text = lambda text: Moves.state_from_text(game, text.rstrip(","))
    with pytest.raises(ContractError, match="gave the position 'moves,b2', want InvalidTextError"):
        texts._check_cut("moves,b2,")


# -- faults of compiled rules --------------------------------------------------------------------


@pytest.mark.rules
def test_actions_out_of_order_are_seen():
    def legal_actions(state, actions):
        count = 0
        for cell in range(8, -1, -1):
            if state.board[cell] == 0:
                actions[count] = cell
                count += 1
        return count

    broken(with_rule(COMPILED(), legal_actions=legal_actions), Identity.MASK, "want ascending")


@pytest.mark.skipif(INTERPRETED, reason="interpreted rules stop at the end of an array")
def test_a_write_beyond_the_planes_is_seen():
    def observe(state, planes):
        for row in range(4):
            planes[1, row, 0] = 1.0

    broken(with_rule(COMPILED(), observe=observe), Identity.BOUNDS, "observe wrote outside")


FACTOR = 1


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_rules_that_differ_when_compiled_are_seen(monkeypatch):
    def observe(state, planes):
        planes[0, 1, 1] = FACTOR  # frozen when compiled, looked up when interpreted

    game = with_rule(COMPILED(), observe=observe)
    monkeypatch.setitem(globals(), "FACTOR", 2)
    broken(game, Identity.INTERPRETED, "interpreted: observation at plane 0")


def test_a_rule_that_compiling_has_changed_is_named_before_what_follows_from_it(monkeypatch):
    """Later in a game only, where interpreted rules are seldom asked and symmetries always are."""

    def observe(state, planes):
        cells = 0
        for cell in range(9):
            if state.board[cell] != 0:
                cells += 1
                planes[0, cell // 3, cell % 3] = 1
        if cells > 1 and FACTOR == 1:
            planes[1, 0, 1] = 1

    monkeypatch.setitem(globals(), "FACTOR", 1)
    game = with_rule(COMPILED(), observe=observe)
    monkeypatch.setitem(globals(), "FACTOR", 2)
    broken(game, Identity.INTERPRETED, "interpreted: observation at plane 1")


def test_one_sided_results_and_what_was_never_checked_are_doubted():
    lost = mutant(outcome=lambda self, state: -abs(PLAIN.outcome(self, state)) or -1)
    assert "seat 1 won all" in " ".join(check_game(lost, num_positions=400).warnings)
    short = check_game(PLAIN(), num_positions=1, seconds=1e-9)
    assert "no random game ended" in " ".join(short.warnings)
    assert "warning: no random game ended" in str(short)
    assert check_game(PLAIN(), num_positions=400).warnings == ()


def test_a_method_that_differs_from_its_rule_is_seen():
    def outcome(self, state):
        return -COMPILED.outcome(self, state)

    broken(mutant(COMPILED, outcome=outcome), Identity.BATCH, "CompiledBatch.replay to ply")


# -- faults that take an oracle, a stated fact or a recorded game --------------------------------


def outcome_of_the_mover(self, state):
    # The seat that would move next has lost: seen from there it is always -1.
    return -abs(PLAIN.outcome(self, state))


def outcome_of_the_other_seat(self, state):
    return -PLAIN.outcome(self, state)


def observation_of_seat_zero(self, state):
    planes = PLAIN.observation(self, state)
    return planes if self.current_player(state) == 0 else planes[::-1]


def seat_repeated(self, state):
    return 0 if state.count(".") == 6 else PLAIN.current_player(self, state)


def termination_for_seat_zero(self, state):
    return "three in a row" if self.outcome(state) == 1 else PLAIN.termination(self, state)


ORACLE = {
    "another word for the end": (
        {"termination": termination_for_seat_zero},
        "termination is 'three in a row', want 'first player won'",
    ),
    "outcome of wrong sign": ({"outcome": outcome_of_the_other_seat}, "outcome is"),
    "outcome as the mover sees it": ({"outcome": outcome_of_the_mover}, "outcome is -1, want 1"),
    "observation from the wrong view": (
        {"observation": observation_of_seat_zero},
        "observation at plane 0",
    ),
    "wrong seat to move": ({"current_player": seat_repeated}, "current_player is 0, want 1"),
    "mask off by one": ({"legal_action_mask": mask_rolled}, "too many and lacks"),
    "mask includes an occupied cell": (
        {"legal_action_mask": mask_with_an_occupied_cell},
        "legal_action_mask allows [4] too many and lacks []",
    ),
}


@pytest.mark.parametrize("fault", ORACLE)
def test_an_oracle_shows_a_planted_fault(fault):
    changes, words = ORACLE[fault]
    broken(mutant(**changes), Identity.ORACLE, words, oracle=PLAIN())


@pytest.mark.parametrize("fault", ["outcome of wrong sign", "observation from the wrong view"])
def test_what_no_game_shows_by_itself(fault):
    # Should the kit learn to see these alone, its description must change.
    check_game(mutant(**ORACLE[fault][0]), num_positions=300)


def test_a_stated_fact_shows_a_planted_fault():
    won = {"moves": ["a1", "a2", "b1", "b2", "c1"], "terminal": True, "outcome": 1}
    check_position(PLAIN(), **won)
    seen = {"moves": ["a1"], "planes": {1: [[0, 0, 0], [0, 0, 0], [1, 0, 0]]}}
    check_position(PLAIN(), **seen, player=1, illegal=["a1"])
    for changes, facts, words in (
        ({"outcome": outcome_of_the_other_seat}, won, "outcome is -1, want 1"),
        ({"observation": observation_of_seat_zero}, seen, "plane 1 is"),
        ({}, {"moves": ["a1"], "player": 0}, "current_player is 1, want 0"),
        ({}, {"moves": ["a1"], "terminal": True}, "is_terminal is False, want True"),
        ({}, {"moves": ["a1"], "illegal": ["b1"]}, "action b1 is legal, want illegal"),
        ({}, {"text": "XX./OO./... x", "legal": ["c3"]}, "want ['c3']"),
    ):
        with pytest.raises(ContractError, match="the position is as its author states") as caught:
            check_position(mutant(**changes), **facts)
        assert words in str(caught.value)


def test_a_recorded_game_shows_a_planted_fault():
    game = PLAIN()
    text = record_playthrough(game, random_game(game, np.random.default_rng(1)))
    check_playthrough(game, text)
    for changes in ({"outcome": outcome_of_the_other_seat}, {"legal_action_mask": mask_rolled}):
        with pytest.raises(ContractError) as caught:
            check_playthrough(mutant(**changes), text)
        assert caught.value.identity is Identity.PLAYTHROUGH
        assert "\ngot  " in str(caught.value)
    with pytest.raises(ContractError, match="unfinished"):
        check_playthrough(game, "".join(text.splitlines(keepends=True)[:-1]))
    for spoilt in ("", text.replace(" 4 b2", " x b2"), text.splitlines()[0]):
        with pytest.raises(InvalidTextError):
            check_playthrough(game, spoilt)


@pytest.mark.rules
def test_a_forgotten_superko_is_seen():
    # On a small board a few hundred random positions repeat one for sure.
    honest, game = azcore.make("go", board_size=3), azcore.make("go", board_size=3)
    step = honest.rules.step

    def forgetful_step(state, action):
        step(state, action)
        state.num_positions = 0  # none of the earlier boards is remembered

    with_rule(game, step=forgetful_step)
    text = broken(game, Identity.ORACLE, "too many and lacks []", oracle=honest)
    assert "A B C" in text


@pytest.mark.rules
def test_a_stale_history_plane_is_seen():
    honest, game = azcore.make("go", board_size=5), azcore.make("go", board_size=5)
    observe = honest.rules.observe

    def stale_observe(state, planes):
        observe(state, planes)
        planes[1] = planes[0]  # the board one ply ago is the board now

    with_rule(game, observe=stale_observe)
    broken(game, Identity.ORACLE, "observation at plane 1", oracle=honest)


@pytest.mark.rules
def test_the_wrong_view_is_seen_with_colours_swapped():
    game = azcore.make("go", board_size=5)
    observe = game.rules.observe

    def observe_as_black(state, planes):
        player = state.player
        state.player = 0
        observe(state, planes)
        state.player = player

    with_rule(game, observe=observe_as_black)
    broken(
        game,
        Identity.VIEW,
        "observation at plane",
        swap_colours=lambda text: text.translate(SWAP),
        colour_planes={16},
    )


# -- keys of positions ---------------------------------------------------------------------------


def key_of_nothing(self, state):
    return 7


def key_without_two_cells(self, state):
    return PLAIN.position_key(self, ".." + state[2:])


def key_that_counts_calls(self, state):
    self.calls = getattr(self, "calls", 0) + 1
    return self.calls


def key_below_zero(self, state):
    return -1 - PLAIN.position_key(self, state)


def key_as_text(self, state):
    return state


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (key_of_nothing, "with another legal_action_mask"),
        (key_without_two_cells, "legal_action_mask"),
        (key_that_counts_calls, "a different key on the second call"),
        (key_below_zero, "want a whole number below 2**64"),
        (key_as_text, "position_key is '.........'"),
    ],
)
def test_a_faulty_key_is_named(key, words):
    broken(mutant(position_key=key), Identity.KEY, words)


@pytest.mark.rules
def test_a_key_that_forgets_the_ko_is_named():
    def without_superko(state):
        return int(state.hash) * 2 + int(state.player) & 2**63 - 1

    game = azcore.make("go", board_size=3)
    game.rules = dataclasses.replace(game.rules, position_key=without_superko)
    broken(game, Identity.KEY, "legal_action_mask", num_positions=2000)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_key_that_differs_when_compiled_is_named(monkeypatch):
    def position_key(state):
        key = FACTOR
        for cell in range(9):
            key = 3 * key + int(state.board[cell])
        return key

    game = COMPILED()
    game.rules = dataclasses.replace(game.rules, position_key=position_key)
    game.position_key(game.initial_state())
    monkeypatch.setitem(globals(), "FACTOR", 2)
    broken(game, Identity.INTERPRETED, "interpreted, position_key is")


def test_a_method_whose_key_is_not_its_rules_is_named():
    def position_key(self, state):
        return COMPILED.position_key(self, state) + 1

    broken(mutant(COMPILED, position_key=position_key), Identity.BATCH, "the key is")


def test_a_compiled_game_without_a_rule_for_keys_passes():
    game = COMPILED()
    game.rules = dataclasses.replace(game.rules, position_key=None)
    assert check_game(game, num_positions=200).checks[Identity.KEY] > 200


def test_a_plain_game_without_keys_passes():
    report = check_game(mutant(position_key=azcore.Game.position_key), num_positions=100)
    assert Identity.KEY not in report.checks
    assert "not checked" in str(report)
