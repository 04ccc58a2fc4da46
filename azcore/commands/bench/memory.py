"""Memory of self-play as a whole, of full search trees, and of the replay window."""

from dataclasses import replace
from pathlib import Path

from azcore.assembly.parts import Config, LearningSettings, settings_from
from azcore.commands.bench.children import in_new_process
from azcore.commands.bench.search import TREES, FreeEvaluator, MiddleGames
from azcore.commands.bench.selfplay import rate_here
from azcore.commands.bench.settings import BenchSettings
from azcore.search.mcts import Search
from azcore.search.memory import bytes_needed
from azcore.selfplay.actor import Actor
from azcore.storage.replay import ReplayBuffer

GAMES = 4  # of self-play, whose records are measured


def resident_mb(config: Config, options: BenchSettings) -> float:
    """Peak resident memory of self-play with a network, MiB, in its own process."""
    return float(
        in_new_process("azcore.commands.bench.memory:resident_here", config, options.seconds)
    )


def resident_here(config: Config, seconds: float) -> float:
    """Peak resident memory of this process; `getrusage` would start from its parent's peak."""
    rate_here(config, seconds)
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def full_trees_mb(config: Config, options: BenchSettings, num_games: int) -> tuple[float, float]:
    """MiB of the full trees of `num_games` games, and the legal actions assumed per position.

    That number is the mean over positions in the middle of random games.
    """
    settings = settings_from(config, LearningSettings)
    games = MiddleGames(
        game=settings.game,
        search=replace(settings.search, num_simulations=1),
        num_trees=TREES,
        opening_plies=options.opening_plies,
    )
    legal = games.legal_actions()
    search = Search(
        game=settings.game,
        num_trees=num_games,
        evaluator=FreeEvaluator(settings.game, 1),
        settings=settings.search,
    )
    return bytes_needed(search.trees, round(legal)) / 2**20, legal


def replay_bytes_per_position(config: Config) -> float:
    """Bytes per position in the replay window, with the configured simulations.

    The policy is random, so targets hold more actions than those of a trained network.
    """
    settings = settings_from(config, LearningSettings)
    actor = Actor(
        game=settings.game,
        search=settings.search,
        settings=replace(settings.selfplay, num_games=GAMES, workers=1),
        seed=settings.seed,
        evaluator=FreeEvaluator(settings.game, GAMES * settings.search.leaves_per_tree),
    )
    buffer = ReplayBuffer(game=settings.game, window_games=10_000, augment=False)
    while len(buffer) < GAMES:
        buffer.extend(actor.play(1))
    return buffer.bytes_held / buffer.num_positions
