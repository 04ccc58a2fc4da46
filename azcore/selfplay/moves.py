"""The moves of all games whose search has finished, in compiled calls over arrays.

`begin` starts the searches that are due. After each wave `play` chooses, records and plays
the moves of finished searches; the rules' own step follows in `GameBatch.play`. The worker
does what `play` cannot, see `InPlay.chosen`.

Letters: B games, one to a tree, T most plies, K most entries of policy targets, A actions.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from azcore import chance
from azcore.chance import Purpose, uniform
from azcore.game.compilation import compiled, record_type
from azcore.game.exhaustive_search import Decided, nothing_decided
from azcore.search.compiling import SOURCES
from azcore.search.gumbel import Gumbel
from azcore.search.proofs import best_of
from azcore.search.results import read_result
from azcore.search.roots import Trees, begin_search, deal, move_root
from azcore.search.settings import SearchSettings
from azcore.search.tree import PENDING
from azcore.selfplay.resignation import best_child_value, is_played_out, may_resign_at
from azcore.selfplay.schedule import DECIDED_PLIES, SelfPlaySettings, drawn, is_decided
from azcore.selfplay.surprise import policy_surprise
from azcore.storage.game_record import NAMED, PLY

UNDER_WAY = -1  # `begins` of a game during a search
# The results of `play`: some game moved; none did, but one needs the worker; or a game lacks room
# for its next ply, so it did nothing.
MOVED, LEFT, NO_ROOM = 2, 1, -1
# Choices that are not actions.
NOTHING, RESIGNS, OPENS, NOISE = -1, -2, -3, -4
_CAP, _MOVE, _GUMBEL = int(Purpose.PLAYOUT_CAP), int(Purpose.MOVE), int(Purpose.GUMBEL)
# Parts of an improved policy, which records hold in whole numbers. Probabilities that round to 0 do
# not matter for learning; without them, a more confident policy makes a shorter record.
_PARTS = np.float32(65_535)

GAME = record_type(
    [
        ("game_index", np.int64),
        ("begins", np.int64),  # wave in which its next search begins, or UNDER_WAY
        ("policy_plies", np.int64),  # still to come in the opening, drawn from the policy
        ("named", np.int64),  # entries of policy targets so far
        ("plies", np.int32),  # so far
        ("opening_plies", np.int32),  # first plies, which no search chose
        ("could_resign", np.bool_),  # a low enough value would have ended it at some ply
        ("is_full", np.bool_),  # its search is a full one
        ("is_noisy", np.bool_),  # and has noise at the root
        ("is_dealt", np.bool_),  # the root's noise is there, if it gets any
    ]
)


class InPlay(NamedTuple):
    """B unfinished games: their complete state between two moves, except where they began."""

    games: npt.NDArray[Any]  # GAME [B]
    plies: npt.NDArray[Any]  # PLY [B, T]
    surprises: npt.NDArray[np.float32]  # [B, T], zeros unless they are recorded
    named: npt.NDArray[Any]  # NAMED [B, K]
    # [B], the action just played, or NOTHING; or what the worker has to do: the player
    # RESIGNS, the network's policy OPENS, the root gets NOISE
    chosen: npt.NDArray[np.int32]
    is_over: npt.NDArray[np.bool_]  # [B], after that action; or it is too long
    decided: Decided  # by the rules alone: such a game is played out without search
    clean_priors: npt.NDArray[np.float32]  # [B, A] before noise was mixed in; or [0, A]
    draws: npt.NDArray[np.float64]  # [A or more], scratch
    noise: npt.NDArray[np.float32]  # [A], scratch


class Way(NamedTuple):
    """How games are played, in the form that kernels use; see `SelfPlaySettings`."""

    seed: int
    most_plies: int  # of a game
    num_simulations: int
    cheap_simulations: int
    full_share: float
    decided_value: float  # infinity: no game counts as decided
    decided_share: float
    explores: bool
    scale: float  # of Gumbel noise
    forced_visits: float
    record_surprise: bool
    played_out: float
    resign_threshold: float  # NaN: none
    temperatures: npt.NDArray[np.float64]  # [T], by searched plies


def make_in_play(size: int, num_actions: int, most_plies: int, keep_priors: bool) -> InPlay:
    """Arrays for games still to be written."""
    return InPlay(
        games=np.zeros(size, GAME),
        plies=np.empty((size, min(most_plies, 256)), PLY),
        surprises=np.empty((size, min(most_plies, 256)), np.float32),
        named=np.empty((size, num_actions + 1024), NAMED),
        chosen=np.full(size, NOTHING, np.int32),
        is_over=np.zeros(size, np.bool_),
        decided=nothing_decided(size),
        clean_priors=np.zeros((size * keep_priors, num_actions), np.float32),
        draws=np.zeros(max(num_actions, DECIDED_PLIES), np.float64),
        noise=np.zeros(num_actions, np.float32),
    )


def way_of(
    settings: SelfPlaySettings,
    search: SearchSettings,
    most_plies: int,
    seed: int,
    record_surprise: bool,
) -> Way:
    """How games are played by these settings, without resignation."""
    decided = settings.decided_value
    return Way(
        seed=seed,
        most_plies=most_plies,
        num_simulations=search.num_simulations,
        cheap_simulations=min(settings.cheap_simulations, search.num_simulations),
        full_share=settings.full_search_share,
        decided_value=math.inf if decided is None else float(np.float32(decided)),  # as recorded
        decided_share=settings.decided_share,
        explores=search.explores,
        scale=0.0 if search.gumbel is None else search.gumbel.scale,
        forced_visits=search.forced_visits,
        record_surprise=record_surprise,
        played_out=settings.resignation_played_out,
        resign_threshold=math.nan,
        temperatures=np.array([settings.temperature_at(ply) for ply in range(most_plies + 1)]),
    )


def with_more_room(in_play: InPlay) -> InPlay:
    """These games with twice the room for plies and entries."""

    def grown(old: npt.NDArray[Any], used: npt.NDArray[Any]) -> npt.NDArray[Any]:
        new = np.empty((len(old), 2 * old.shape[1]), old.dtype)
        for row, count in enumerate(used):
            new[row, :count] = old[row, :count]
        return new

    plies, named = in_play.games["plies"], in_play.games["named"]
    return in_play._replace(
        plies=grown(in_play.plies, plies),
        surprises=grown(in_play.surprises, plies),
        named=grown(in_play.named, named),
    )


def _begin(trees: Trees, in_play: InPlay, way: Way, wave: int) -> int:
    """Begin the searches due in this wave; returns how many games have NOISE as `chosen`."""
    noisy = 0
    for b in range(in_play.games.shape[0]):
        game = in_play.games[b]
        in_play.chosen[b] = NOTHING
        in_play.is_over[b] = False
        if game.begins == UNDER_WAY or game.begins > wave:
            continue
        game.begins = UNDER_WAY
        if in_play.decided.result[b] != 0:
            game.is_dealt = True
            continue
        game.is_full = game.policy_plies == 0 and gets_full_search(in_play, b, way)
        game.is_noisy = game.is_full and way.explores
        game.is_dealt = trees.variants.gumbel is None and not game.is_noisy
        simulations = way.cheap_simulations
        if game.policy_plies > 0:
            simulations = 0  # evaluates the root
        elif game.is_full:
            simulations = way.num_simulations
        begin_search(trees, b, simulations, way.forced_visits if game.is_noisy else 0.0)
        if not game.is_dealt and trees.tree.nodes[b, 0].num_edges != PENDING:
            in_play.chosen[b] = NOISE  # of a kept root; a Gumbel search keeps none
            noisy += 1
    return noisy


@register_jitable
def gets_full_search(in_play: InPlay, b: int, way: Way) -> bool:
    """Whether a game's next move gets a full search (Wu 2019, section 3.1)."""
    game, share = in_play.games[b], way.full_share
    if game.plies - game.opening_plies >= DECIDED_PLIES:
        last = in_play.draws[:DECIDED_PLIES]
        for i in range(DECIDED_PLIES):
            ply = in_play.plies[b, game.plies - DECIDED_PLIES + i]
            last[i] = ply.root_values if ply.players == 0 else -ply.root_values
        if is_decided(last, way.decided_value):
            share *= way.decided_share
    if share == 1.0:
        return True
    draw = in_play.draws[:1]
    uniform(_CAP, way.seed, game.game_index, game.plies, draw)
    return bool(draw[0] < share)


def _play(trees: Trees, in_play: InPlay, way: Way, wave: int) -> int:
    """Choose, record and play the moves of all finished searches, and update the trees.

    Returns:
        MOVED, LEFT, NO_ROOM or 0.
    """
    tree, games = trees.tree, in_play.games
    for b in range(games.shape[0]):
        if not trees.wave.active[b] and games[b].begins == UNDER_WAY:
            named = games[b].named + max(np.int64(1), np.int64(tree.nodes[b, 0].num_edges))
            if games[b].plies >= in_play.plies.shape[1] or named > in_play.named.shape[1]:
                return NO_ROOM
    found = 0
    for b in range(games.shape[0]):
        game = games[b]
        in_play.chosen[b] = NOTHING
        in_play.is_over[b] = False
        is_due = not game.is_dealt and tree.nodes[b, 0].num_edges != PENDING
        if is_due and not deal_by_chance(trees, in_play, b, way, trees.variants.gumbel):
            in_play.chosen[b] = NOISE
            found = max(found, LEFT)
        if trees.wave.active[b] or game.begins != UNDER_WAY:
            continue
        game.begins = wave
        in_play.chosen[b] = OPENS
        if in_play.decided.result[b] != 0:
            in_play.chosen[b] = record_decided(in_play, b)
            in_play.is_over[b] = game.plies >= way.most_plies
        elif game.policy_plies == 0:
            in_play.chosen[b] = choose_and_record(trees, in_play, b, way)
            in_play.is_over[b] = game.plies >= way.most_plies  # or at fault
        if in_play.chosen[b] < 0:
            found = max(found, LEFT)
            continue
        found = MOVED
        move_root(trees, b, int(in_play.chosen[b]))  # one type, compiled once
    return found


@register_jitable
def deal_by_chance(trees: Trees, in_play: InPlay, b: int, way: Way, gumbel: Gumbel | None) -> bool:
    """Draw the noise of a Gumbel search at a known root; false with PUCT."""
    if gumbel is None:
        return False
    game = in_play.games[b]
    noise = in_play.noise[: trees.tree.nodes[b, 0].num_edges]
    noise[:] = 0.0
    if game.is_noisy:
        draws = in_play.draws[: noise.shape[0]]
        uniform(_GUMBEL, way.seed, game.game_index, game.plies, draws)
        for i in range(noise.shape[0]):
            noise[i] = -math.log(-math.log(1.0 - draws[i]))  # as `Generator.gumbel`
    game.is_dealt = True
    deal(trees, b, noise, way.scale)
    return True


@register_jitable
def choose_and_record(trees: Trees, in_play: InPlay, b: int, way: Way) -> int:
    """Choose a finished search's action, which becomes a ply of the game; or RESIGNS."""
    game, root = in_play.games[b], trees.root
    count, best, value = read_result(trees.tree, b, trees.rule, trees.variants, root)
    visits, kept, priors = root.visits[:count], root.kept[:count], root.priors[:count]
    ranked = best_of(visits, priors, root.proven[:count])
    best_child = best_child_value(visits, root.q, ranked, value)
    if (
        not math.isnan(way.resign_threshold)
        and not is_played_out(game.game_index, way.played_out)
        and may_resign_at(game.plies, game.opening_plies)
    ):
        game.could_resign = True
        # In float32, like the recorded values from which the threshold is computed.
        if np.float32(max(value, best_child)) < np.float32(way.resign_threshold):
            return RESIGNS
    if trees.variants.gumbel is None:
        searched = game.plies - game.opening_plies
        temperature = way.temperatures[min(searched, way.temperatures.shape[0] - 1)]
        if temperature > 0.0:
            draw = in_play.draws[:1]
            uniform(_MOVE, way.seed, game.game_index, game.plies, draw)
            best = drawn(kept, temperature, draw[0])
    else:
        for i in range(count):
            kept[i] = np.int32(np.rint(root.policy[i] * _PARTS))
    in_play.surprises[b, game.plies] = 0.0
    if game.is_full:
        for i in range(count):
            if kept[i] > 0:
                entry = in_play.named[b, game.named]
                entry.visit_actions = root.actions[i]
                entry.visit_counts = kept[i]
                game.named += 1
        if way.record_surprise:
            if game.is_noisy and in_play.clean_priors.shape[0] > 0:
                priors = in_play.clean_priors[b, :count]
            in_play.surprises[b, game.plies] = policy_surprise(kept, priors)
    ply = in_play.plies[b, game.plies]
    ply.actions = root.actions[best]
    ply.players = trees.tree.nodes[b, 0].player
    ply.root_values = value
    ply.best_child_values = best_child
    ply.named_ends = game.named
    game.plies += 1
    return root.actions[best]  # type: ignore[no-any-return]


@register_jitable
def record_decided(in_play: InPlay, b: int) -> int:
    """Record the proven action as a ply: a win is the policy's target, a loss gives no target."""
    game, result = in_play.games[b], in_play.decided.result[b]
    action = in_play.decided.action[b]
    if result > 0:
        entry = in_play.named[b, game.named]
        entry.visit_actions = action
        entry.visit_counts = 1
        game.named += 1
    in_play.surprises[b, game.plies] = 0.0
    ply = in_play.plies[b, game.plies]
    ply.actions = action
    ply.players = in_play.decided.player[b]
    ply.root_values = ply.best_child_values = result
    ply.named_ends = game.named
    game.plies += 1
    return action  # type: ignore[no-any-return]


_OWN = ("moves.py", "resignation.py", "schedule.py", "surprise.py")
_SOURCES = [*SOURCES, chance.__file__, *(Path(__file__).with_name(name) for name in _OWN)]
begin, play = (compiled(function, sources=_SOURCES) for function in (_begin, _play))
