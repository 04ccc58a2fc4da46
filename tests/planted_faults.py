"""Faults planted in azcore, one after the other, to see that tests fail.

    python tests/planted_faults.py                     # all of them, about an hour
    python tests/planted_faults.py Backup "Root noise" # some, by name
    python tests/planted_faults.py wiring              # those between settings and what is done

There is one for each row of docs/papers.md, which the tests that the row names must catch, and
those of the wiring: a formula may be right and never be asked for. A file is changed, the tests are
run, the file is put back; so nothing else may work in this checkout meanwhile. tests/test_papers.py
checks that each fault can still be planted.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "papers.md"


@dataclass(frozen=True)
class Row:
    """A row of the tables."""

    item: str
    paper: str
    setting: str
    code: str
    test: str

    @cached_property
    def tests(self) -> list[str]:
        """Files, or functions in them, as pytest names them."""
        return re.findall(r"`(tests/[^`]+)`", self.test)

    @cached_property
    def files(self) -> list[str]:
        """Those named in the column of the code."""
        return re.findall(r"`((?:azcore|games|conf)/[^`]+)`", self.code)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Functions, classes and methods named behind a file in that column: (file, name)."""
        found = re.findall(r"`([^`]+\.py)`([^`]*)", self.code)
        return [(file, name) for file, words in found for name in re.findall(r"[\w.]+", words)]

    @cached_property
    def overrides(self) -> list[str]:
        """KEY=VALUE, or KEY alone, of the column of settings."""
        words = " ".join(re.findall(r"`([^`]+)`", self.setting)).split()
        return [word for word in words if "=" in word or "." in word]


def rows() -> list[Row]:
    """Every row of every table of items in docs/papers.md."""
    found = []
    for table in re.findall(
        r"^\| Item \|.*\n\|[-|]+\n((?:\|.*\n)+)", TABLE.read_text(), re.MULTILINE
    ):
        for line in table.splitlines():
            found.append(Row(*(cell.strip() for cell in line.strip("|").split("|"))))
    return found


@dataclass(frozen=True)
class Fault:
    """What to write in place of what, which occurs once in the file."""

    item: str  # of the row, or a name
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()  # that must fail; none: those that the row names


FAULTS = [
    Fault(
        "Selection",
        "azcore/search/puct.py",
        "return edge.q + exploration(edge, shared, formula)",
        "return edge.q - exploration(edge, shared, formula)",
    ),
    Fault(
        "U of AlphaGo Zero",
        "azcore/search/puct.py",
        "return parent_visits if count_parent else parent_visits - 1.0",
        "return parent_visits",
    ),
    Fault(
        "U of AlphaZero",
        "azcore/search/puct.py",
        "math.log((1.0 + parent_visits + c_base) / c_base) + c_init if",
        "math.log((1.0 + parent_visits + c_base) / c_base) if",
    ),
    Fault(
        "Scale of Q",
        "azcore/search/puct.py",
        "return 2.0 / (high - low)",
        "return 1.0 / (high - low)",
    ),
    Fault(
        "Games of an iteration",
        "conf/preset/algorithm/alphagozero_paper.yaml",
        "games_per_generation: 25000",
        "games_per_generation: 20000",
    ),
    Fault(
        "Games",
        "conf/preset/chess_paper.yaml",
        "games_per_generation: 62857",
        "games_per_generation: 44000",
    ),
    Fault(
        "Depth of the four",
        "conf/network/sep_conv.yaml",
        "blocks: 11",
        "blocks: 12",
    ),
    Fault(
        "Unvisited edge",
        "azcore/search/puct.py",
        "return node_value - reduction if relative else constant",
        "return node_value if relative else -1.0",
    ),
    Fault(
        "Leaf",
        "azcore/search/softmax.py",
        "priors[i] = priors[i] * scale",
        "priors[i] = 1.0 / priors.shape[0]",
    ),
    Fault(
        "Edge statistics",
        "azcore/search/backups.py",
        "set_total(tree, b, n, i, edge.visits + 1, total)",
        "set_total(tree, b, n, i, edge.visits + 2, total)",
    ),
    Fault(
        "Backup",
        "azcore/search/backups.py",
        "value if node.player == player else -value",
        "value",
    ),
    Fault(
        "Root noise",
        "azcore/search/roots.py",
        "(1.0 - fraction) * prior + fraction * float(noise[rank])",
        "prior + fraction * float(noise[rank])",
    ),
    Fault(
        "Noise by game",
        "games/shogi/game.py",
        "dirichlet_alpha=0.15",
        "dirichlet_alpha=0.3",
    ),
    Fault(
        "Policy",
        "azcore/selfplay/schedule.py",
        "** (1.0 / temperature)",
        "** temperature",
    ),
    Fault(
        "Temperature",
        "azcore/selfplay/schedule.py",
        "return self.temperature if ply < self.temperature_plies",
        "return self.temperature if ply <= self.temperature_plies",
    ),
    Fault(
        "Temperature in evaluation",
        "azcore/search/proofs.py",
        "np.lexsort((actions, -priors, -visits, -proven))",
        "np.lexsort((actions, -visits, -priors, -proven))",
    ),
    Fault(
        "Symmetries in search",
        "azcore/search/evaluators.py",
        "np.take_along_axis(policy_logits, self._back[which], 1)",
        "np.take_along_axis(policy_logits, self._tables.actions[which], 1)",
    ),
    Fault(
        "Time control",
        "azcore/engine/clock.py",
        "remaining / moves + self.increment",
        "remaining / (2 * moves) + self.increment",
    ),
    Fault(
        "Iteration",
        "azcore/algorithms/alphagozero.py",
        "return self._best, self._best_step",
        "return network, step",
    ),
    Fault(
        "Window",
        "azcore/storage/replay.py",
        "rng.integers(0, self.num_positions, size)",
        "rng.integers(0, self.num_positions // 2, size)",
    ),
    Fault(
        "Optimiser",
        "azcore/learner/optimizers.py",
        "momentum=settings.momentum,",
        "momentum=0.0,",
    ),
    Fault(
        "Loss",
        "azcore/learner/module.py",
        "policy_loss = -(targets * log_policy).sum(1).mean()",
        "policy_loss = -(targets * log_policy).mean()",
    ),
    Fault(
        "Gate",
        "azcore/arena/gate.py",
        "return score > threshold",
        "return score >= threshold",
    ),
    Fault(
        "Resignation",
        "azcore/selfplay/resignation.py",
        "safe = candidates[limits < false_positives]",
        "safe = candidates[limits < 3 * false_positives]",
    ),
    Fault(
        "Games played out",
        "azcore/selfplay/resignation.py",
        "math.ceil((game_index + 1) * share) > math.ceil(game_index * share)",
        "math.floor((game_index + 1) * share) > math.floor(game_index * share)",
    ),
    Fault(
        "Augmentation",
        "azcore/storage/replay.py",
        "samples = self._mapped(samples, rng.integers(0, len(self._symmetries), size)[part])",
        "samples = self._mapped(samples, rng.integers(0, 4, size)[part])",
    ),
    Fault(
        "Outcome",
        "azcore/storage/replay.py",
        "outcomes = found.outcomes * sign",
        "outcomes = found.outcomes * sign - 0.1 * (sign < 0)",
    ),
    Fault(
        "Player",
        "azcore/algorithms/training.py",
        "return NetworkWeights(settings, playing, version)",
        "return NetworkWeights(settings, playing, max(0, version - 4))",
    ),
    Fault(
        "No augmentation",
        "conf/algorithm/alphazero.yaml",
        "augment: false",
        "augment: true",
    ),
    Fault(
        "Learning rate of AlphaZero",
        "azcore/learner/settings.py",
        "if step >= begin or",
        "if step > begin or begin == 0 or",
    ),
    Fault(
        "Weight decay",
        "azcore/learner/optimizers.py",
        "decay = 2 * settings.l2",
        "decay = settings.l2",
    ),
    Fault(
        "Cap of Go",
        "games/go/game.py",
        "max_game_length=rules.max_plies(board_size),",
        "max_game_length=rules.max_plies(board_size) + 2,",
    ),
    Fault(
        "Same settings for all games",
        "conf/preset/chess_paper.yaml",
        "check:\n",
        "search: {c_init: 1.0}\ncheck:\n",
    ),
    Fault(
        "Scale of the original",
        "azcore/commands/check/report.py",
        "_duration(check.games * cost.seconds_per_game)",
        "_duration(check.games * cost.search_us)",
    ),
    Fault(
        "Planes of Go",
        "games/go/encoding.py",
        "if state.player == 0:",
        "if state.player == 1:",
    ),
    Fault(
        "Planes of chess",
        "games/chess/encoding.py",
        "cells[NO_PROGRESS_PLANE] = int(state.clock)",
        "cells[NO_PROGRESS_PLANE] = int(state.clock) >> 1",
    ),
    Fault(
        "Planes of shogi",
        "games/shogi/encoding.py",
        "hand = state.hands[slot, player ^ side]",
        "hand = state.hands[slot, side]",
    ),
    Fault(
        "View of the player to move",
        "games/chess/encoding.py",
        "seen_row = 7 - row if player else row",
        "seen_row = row",
    ),
    Fault(
        "Trunk",
        "azcore/networks/towers.py",
        "return torch.relu(self.second(self.first(x)) + x)",
        "return torch.relu(self.second(self.first(x))) + x",
    ),
    Fault(
        "Policy head of AlphaGo Zero",
        "azcore/networks/heads.py",
        "ConvBlock(channels, 2, 1, activation),\n            nn.Flatten(),\n            "
        "nn.Linear(2 * height",
        "ConvBlock(channels, 4, 1, activation),\n            nn.Flatten(),\n            "
        "nn.Linear(4 * height",
    ),
    Fault(
        "Policy head of AlphaZero",
        "azcore/networks/heads.py",
        "return planes.contiguous(memory_format=torch.contiguous_format).flatten(1)",
        "return planes.permute(0, 2, 3, 1).flatten(1)",
    ),
    Fault(
        "Value head",
        "azcore/networks/heads.py",
        "ConvBlock(channels, 1, 1),",
        "ConvBlock(channels, 1, 3),",
    ),
    Fault(
        "Expected score",
        "azcore/arena/elo.py",
        "0.5 * rating_difference / ELO_PER_UNIT",
        "0.6 * rating_difference / ELO_PER_UNIT",
    ),
    Fault(
        "Pretraining comparison",
        "azcore/algorithms/supervised.py",
        "ImportedGames(games.learned,",
        "ImportedGames(games.learned + games.held_out,",
    ),
    Fault(
        "Tuning",
        "azcore/commands/tune/tune.py",
        'direction="maximize"',
        'direction="minimize"',
    ),
    Fault(
        "Update",
        "azcore/arena/elo.py",
        "return rating + k * (score - expected)",
        "return rating + k * score",
    ),
    Fault(
        "Gumbel root",
        "azcore/search/gumbel.py",
        "remaining = max(2, remaining // 2)",
        "remaining = max(1, remaining // 2)",
    ),
    Fault(
        "Completed Q",
        "azcore/search/gumbel.py",
        "(network_value + visits * weighted_q / tried_prior) / (1.0 + visits)",
        "(network_value + visits * weighted_q) / (1.0 + visits)",
    ),
    Fault(
        "Value of a Gumbel root",
        "azcore/search/results.py",
        "value += policy[i] * q",
        "value += policy[i] * edge.q",
    ),
    Fault(
        "First-play value",
        "azcore/search/puct.py",
        "return node_value - reduction if relative",
        "return node_value + reduction if relative",
    ),
    Fault(
        "Virtual loss",
        "azcore/search/puct.py",
        "            total -= waiting\n",
        "            total += waiting\n",
    ),
    Fault(
        "Visit-only virtual loss",
        "azcore/search/puct.py",
        "        if rule.virtual_loss_is_loss:\n",
        "        if True:\n",
    ),
    Fault(
        "Evaluation queue",
        "azcore/search/walks.py",
        "while used < wave.leaves_per_tree:",
        "while used < min(2, wave.leaves_per_tree):",
    ),
    Fault(
        "Reuse",
        "azcore/search/roots.py",
        "new_tried[places + i] = tree.tried[b, node.first_tried + i]",
        "new_tried[places + i] = tree.tried[b, node.first_tried]",
    ),
    Fault(
        "Transpositions",
        "azcore/search/backups.py",
        "visits * (mean if same else -mean)",
        "visits * mean",
    ),
    Fault(
        "Learning rate of AlphaGo Zero",
        "conf/algorithm/alphagozero.yaml",
        "[0.01, 0.001, 0.0001]",
        "[0.1, 0.01, 0.001]",
    ),
    Fault(
        "Four networks",
        "azcore/networks/towers.py",
        "    return ConvBlock(channels, channels, 3)\n",
        "    return ConvBlock(channels, channels, 1)\n",
    ),
    Fault(
        "Evaluation cache",
        "azcore/search/evaluators.py",
        "np.ascontiguousarray(observation).data",
        "np.ascontiguousarray(observation[:1]).data",
    ),
    Fault(
        "Sequential test",
        "azcore/arena/sprt.py",
        "math.log((1.0 - self.beta) / self.alpha)",
        "math.log((1.0 - self.alpha) / self.alpha)",
    ),
    Fault(
        "Actions of shogi",
        "games/shogi/rules.py",
        "DROP_PLANE = 2 * NUM_MOVE_PLANES\n",
        "DROP_PLANE = 2 * NUM_MOVE_PLANES - 1\n",
    ),
    Fault(
        "Actions of chess",
        "games/chess/rules.py",
        "for plane in range(UNDERPROMOTION_PLANE, NUM_PLANES, 3):",
        "for plane in range(UNDERPROMOTION_PLANE, NUM_PLANES - 3, 3):",
    ),
    Fault(
        "Caps of chess and shogi",
        "games/shogi/rules.py",
        "state.ply >= state.max_plies:",
        "state.ply > state.max_plies:",
    ),
    Fault(
        "Batch",
        "conf/algorithm/alphagozero.yaml",
        "batch_size: 2048",
        "batch_size: 4096",
    ),
    Fault(
        "Checkpoint",
        "conf/algorithm/alphagozero.yaml",
        "steps_per_generation: 1000",
        "steps_per_generation: 500",
    ),
    Fault(
        "Batch and steps",
        "conf/learner/default.yaml",
        "batch_size: 4096\n",
        "batch_size: 2048\n",
    ),
    Fault(
        "Simulations",
        "conf/search/puct.yaml",
        "num_simulations: 800 ",
        "num_simulations: 400 ",
    ),
    Fault(
        "Window of AlphaZero",
        "conf/replay/default.yaml",
        "window_games: 1000000",
        "window_games: 500000",
    ),
    Fault(
        "Playout cap randomisation",
        "azcore/selfplay/moves.py",
        "game.is_noisy = game.is_full and way.explores",
        "game.is_noisy = game.policy_plies == 0 and way.explores",
    ),
    Fault(
        "Openings by policy",
        "azcore/selfplay/worker.py",
        "if self.game.is_terminal(self.game.step(state, action)):",
        "if False:",
    ),
    Fault(
        "Growing window",
        "azcore/learner/data.py",
        "            self.buffer.window_games = self._settings.window_at(self.total_games)\n",
        "",
    ),
    Fault(
        "Warm-up",
        "azcore/learner/settings.py",
        "return rate * min(1.0, (step + 1) / max(1, self.warmup_steps))",
        "return rate",
    ),
    Fault(
        "Forced visits",
        "azcore/search/puct.py",
        "math.sqrt(factor * prior * simulations)",
        "factor * math.sqrt(prior * simulations)",
    ),
    Fault(
        "Pruned targets",
        "azcore/search/results.py",
        "            if visits == 1:\n                visits = 0\n",
        "",
    ),
    Fault(
        "Temperature of the root's policy",
        "azcore/search/roots.py",
        "prior = (prior / highest) ** (1.0 / temperature) / total",
        "prior = (prior / highest) ** temperature / total",
    ),
    Fault(
        "First play by policy mass",
        "azcore/search/puct.py",
        "reduction *= math.sqrt(tried_mass(tree, b, n))",
        "reduction *= tried_mass(tree, b, n)",
    ),
    Fault(
        "Early stop",
        "azcore/search/walks.py",
        "overtakes = highest > most or (highest == most and precedes(tree, b, 0, i, best))",
        "overtakes = highest > most",
    ),
    Fault(
        "Proven wins and losses",
        "azcore/search/proofs.py",
        "return int(proof if same else -proof)",
        "return int(-proof)",
    ),
    Fault(
        "Targets of proven positions",
        "azcore/search/proofs.py",
        "elif proven[i] < 0:",
        "elif False:",
    ),
    Fault(
        "C(s) by the spread of values",
        "azcore/search/puct.py",
        "variance = max(0.0, total / (rule.spread_visits + visits - 1.0) - square)",
        "variance = max(0.0, total / (rule.spread_visits + visits) - square)",
    ),
    Fault(
        "Surprise",
        "azcore/selfplay/surprise.py",
        "np.log(target / expected)",
        "np.log(expected / target)",
    ),
    Fault(
        "Cosine of the learning rate",
        "azcore/learner/settings.py",
        "share = min(1.0, max(step / max_steps, time_share))",
        "share = min(1.0, step / max_steps)",
    ),
    Fault(
        "Muon",
        "azcore/learner/muon.py",
        "return values.flatten(1)",
        "return values.flatten(1)[:, :1]",
    ),
    Fault(
        "Average of the weights",
        "azcore/learner/averaging.py",
        "return min(decay, step / (9 + step))",
        "return decay",
    ),
    Fault(
        "Decided games",
        "azcore/selfplay/moves.py",
        "ply.root_values if ply.players == 0 else -ply.root_values",
        "ply.root_values",
    ),
    Fault(
        "Temperature that decays",
        "azcore/selfplay/schedule.py",
        "remaining: float = 0.5 ** (ply / self.temperature_half_life)",
        "remaining: float = 0.5 ** ply",
    ),
    Fault(
        "Value of the search in the target",
        "azcore/storage/replay.py",
        "value_targets = (1 - share) * value_targets + own",
        "value_targets = value_targets + own",
    ),
    Fault(
        "Plies not learned from",
        "azcore/storage/lookup.py",
        'if ply >= game["opening_plies"] and end > begin:',
        'if ply >= game["opening_plies"]:',
    ),
    Fault(
        "Ownership",
        "azcore/storage/replay.py",
        'auxiliary["ownership"] = known * sign[:, None, None]',
        'auxiliary["ownership"] = known',
    ),
    Fault(
        "Score",
        "azcore/storage/replay.py",
        'auxiliary["score"] = ends["score"] * sign / np.float32',
        'auxiliary["score"] = ends["score"] / np.float32',
    ),
    Fault(
        "Opponent's reply",
        "azcore/storage/lookup.py",
        "first_named + end, first_named + after,",
        "first_named + begin, first_named + end,",
    ),
    Fault(
        "Opponent's reply",
        "azcore/storage/lookup.py",
        "if out.reply.shape[0] > 0 and left > 1:",
        "if out.reply.shape[0] > 0:",
    ),
    Fault(
        "Soft policy",
        "azcore/learner/auxiliary.py",
        "SOFTNESS = 0.25 ",
        "SOFTNESS = 0.5 ",
    ),
    Fault(
        "Later values",
        "azcore/storage/lookup.py",
        'if there["players"] != player:\n                        value = -value',
        "pass",
    ),
    Fault(
        "Plies left",
        "azcore/learner/auxiliary.py",
        "delta=_MOST_PLIES",
        "delta=1.0",
    ),
    Fault(
        "Win, draw and loss",
        "azcore/learner/module.py",
        "torch.stack([values.clamp(min=0), 1 - values.abs(), (-values).clamp(min=0)], 1)",
        "torch.stack([(-values).clamp(min=0), 1 - values.abs(), values.clamp(min=0)], 1)",
    ),
    Fault(
        "Global pooling",
        "azcore/networks/blocks.py",
        "self.activation(self.local(x) + self.everywhere(x)[:, :, None, None])",
        "self.activation(self.local(x))",
    ),
    Fault(
        "Global pooling",
        "azcore/networks/blocks.py",
        "torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)",
        "torch.cat([x.mean((2, 3)), x.mean((2, 3))], 1)",
    ),
    Fault(
        "Pooled heads",
        "azcore/networks/pooled.py",
        "logits[name] = torch.cat([logits[name], others(pooled)], 1)",
        "logits[name] = torch.cat([others(pooled), logits[name]], 1)",
    ),
    Fault(
        "Squeeze and excitation",
        "azcore/networks/blocks.py",
        "torch.sigmoid(scale) * x + shift",
        "torch.sigmoid(scale) * x",
    ),
    Fault(
        "Mish",
        "azcore/networks/blocks.py",
        "nn.BatchNorm2d(channels), style.activation())",
        "nn.BatchNorm2d(channels), nn.ReLU())",
    ),
    Fault(
        "Preactivation",
        "azcore/networks/blocks.py",
        "nn.Identity() if before else style.activation()",
        "style.activation()",
    ),
    Fault(
        "Preactivation",
        "azcore/networks/folding.py",
        "shift = -norm.running_mean * scale",
        "shift = norm.running_mean * scale",
    ),
    Fault(
        "Nested bottleneck",
        "azcore/networks/blocks.py",
        "half, within = channels // 2,",
        "half, within = channels,",
    ),
    Fault(
        "Transformer",
        "azcore/networks/transformer.py",
        "cells = self.places + x",
        "cells = x",
    ),
    Fault(
        "Transformer",
        "azcore/networks/transformer.py",
        "x = x + self.attention(x)",
        "x = self.attention(x)",
    ),
    Fault(
        "AdamW",
        "azcore/learner/optimizers.py",
        "torch.optim.AdamW(parameters,",
        "torch.optim.Adam(parameters,",
    ),
    Fault(
        "Branched games",
        "azcore/selfplay/worker.py",
        "if action != before.actions[ply] and not",
        "if not",
    ),
    Fault(
        "Starts by regret",
        "azcore/selfplay/worker.py",
        "np.where(before.learned, wrong, 0.0)",
        "np.where(before.learned, 1.0, 0.0)",
    ),
    Fault(
        "Forced wins at leaves",
        "azcore/game/exhaustive_search.py",
        "value = NO if line.attacks[depth] or line.num_legal[depth] == 0 else YES",
        "value = NO",
    ),
    Fault(
        "Games ended by proof",
        "azcore/selfplay/worker.py",
        "self._proof_plies = self._search.forced_wins.plies",
        "self._proof_plies = search.proof_plies or 0",
    ),
    Fault(
        "Several komi and sizes",
        "games/go/encoding.py",
        "own_komi = state.komi if state.player == 1 else -state.komi",
        "own_komi = state.komi",
    ),
]


RESEARCH = ("tests/documents/test_research.py",)
WIRING = [
    Fault(
        "a package's targets never asked for",
        "azcore/assembly/parts.py",
        'own_targets=self.plugins.function("targets"),',
        "own_targets=None,",
        RESEARCH,
    ),
    Fault(
        "a package's augmentation never asked for",
        "azcore/assembly/parts.py",
        'augmentation=self.plugins.function("augmentation"),',
        "augmentation=None,",
        RESEARCH,
    ),
    Fault(
        "a package's learner never asked for",
        "azcore/algorithms/training.py",
        'objects.learner or settings.plugins.subclass("learner", LearnerModule)',
        "objects.learner or LearnerModule",
        RESEARCH,
    ),
    Fault(
        "a package's algorithm never asked for",
        "azcore/algorithms/training.py",
        "if settings.plugins.algorithm is not None:",
        "if False:",
        RESEARCH,
    ),
    Fault(
        "callbacks left out",
        "azcore/algorithms/training.py",
        "callbacks += self._own_callbacks",
        "pass",
        RESEARCH,
    ),
    Fault(
        "a learner left out",
        "azcore/library/runs.py",
        "train_run(beside_defaults(settings), display_for(quiet), objects)",
        "train_run(settings, display_for(quiet), Objects(callbacks=objects.callbacks))",
        RESEARCH,
    ),
    Fault(
        "temperatures left out",
        "azcore/selfplay/schedule.py",
        "if self.temperatures:",
        "if False:",
        RESEARCH,
    ),
    Fault(
        "resumed without what a program passed",
        "azcore/commands/train.py",
        "objects.require_those_of(run.path if resume else config[FORK], had)",
        "pass",
        RESEARCH,
    ),
    Fault(
        "noise never asked for",
        "azcore/selfplay/moves.py",
        "game.is_noisy = game.is_full and way.explores",
        "game.is_noisy = False",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "alpha 1 in every game",
        "azcore/selfplay/worker.py",
        "self._alpha = search.dirichlet_alpha or game.dirichlet_alpha",
        "self._alpha = 1.0",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "alpha of the settings passed over",
        "azcore/selfplay/worker.py",
        "self._alpha = search.dirichlet_alpha or game.dirichlet_alpha",
        "self._alpha = game.dirichlet_alpha",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "the same noise at every ply",
        "azcore/selfplay/worker.py",
        "self._rng(Purpose.ROOT_NOISE, index, ply)",
        "self._rng(Purpose.ROOT_NOISE, index, 0)",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "the same draw at every ply",
        "azcore/selfplay/moves.py",
        "uniform(_MOVE, way.seed, game.game_index, game.plies, draw)",
        "uniform(_MOVE, way.seed, game.game_index, 0, draw)",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "the same chance in every game",
        "azcore/selfplay/moves.py",
        "uniform(_MOVE, way.seed, game.game_index, game.plies, draw)",
        "uniform(_MOVE, way.seed, 0, game.plies, draw)",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "subtree thrown away by the worker",
        "azcore/search/roots.py",
        "is_kept = trees.most_kept > 0 and reroot(",
        "is_kept = False and reroot(",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "temperature counts the opening",
        "azcore/selfplay/moves.py",
        "searched = game.plies - game.opening_plies",
        "searched = game.plies",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "resigns when root or child is low",
        "azcore/selfplay/moves.py",
        "max(value, best_child)",
        "min(value, best_child)",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "nobody plays on to the end",
        "azcore/selfplay/moves.py",
        "        and not is_played_out(game.game_index, way.played_out)\n",
        "",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "forced visits in every search",
        "azcore/selfplay/moves.py",
        "way.forced_visits if game.is_noisy else 0.0",
        "way.forced_visits",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "moves are drawn by forced visits",
        "azcore/selfplay/moves.py",
        "best = drawn(kept, temperature, draw[0])",
        "best = drawn(visits, temperature, draw[0])",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "proofs stay behind when the root moves",
        "azcore/search/roots.py",
        "        proofs.nodes[b, m] = proofs.nodes[b, n]\n",
        "        proofs.nodes[b, m] = 0\n",
        ("tests/search/test_proofs.py",),
    ),
    Fault(
        "squares stay behind when the root moves",
        "azcore/search/roots.py",
        "        squares[b, m] = squares[b, n]\n",
        "        squares[b, m] = 0.0\n",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "a proven root is thought about",
        "azcore/engine/thinker.py",
        "if self._search.proof(0):",
        "if False:",
        ("tests/engine/test_thinker.py",),
    ),
    Fault(
        "drawn moves stop early",
        "azcore/arena/players.py",
        "best_only = self._temperature_in(row) == 0",
        "best_only = True",
        ("tests/arena/test_match.py",),
    ),
    Fault(
        "no temperature without noise",
        "azcore/search/settings.py",
        "or self.root_temperature != 1",
        "",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "the winner resigns",
        "azcore/selfplay/worker.py",
        "-1 if player == 0 else 1, resigned_by",
        "1 if player == 0 else -1, resigned_by",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "records keep the network's value",
        "azcore/selfplay/moves.py",
        "ply.root_values = value",
        "ply.root_values = trees.tree.nodes[b, 0].value",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "openings are learned from",
        "azcore/selfplay/worker.py",
        "game.plies = game.opening_plies = there.stop",
        "game.plies = there.stop",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "a worker keeps its first weights",
        "azcore/selfplay/worker.py",
        "        self._search.set_evaluator(evaluator)\n        self._weights_version",
        "        self._weights_version",
        ("tests/selfplay/test_actor.py",),
    ),
    Fault(
        "N(s) always with the parent",
        "azcore/search/memory.py",
        "count_parent=settings.count_parent_visit",
        "count_parent=True",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "constants on the wrong scale",
        "azcore/search/memory.py",
        "unit=value_unit(settings.value_range)",
        "unit=1.0",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "first play on the wrong scale",
        "azcore/search/memory.py",
        "first_play=settings.first_play_value",
        "first_play=settings.first_play",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "first play always a constant",
        "azcore/search/memory.py",
        "first_play_relative=settings.first_play_relative",
        "first_play_relative=False",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "no virtual loss",
        "azcore/search/memory.py",
        "virtual_loss=settings.virtual_loss,",
        "virtual_loss=1,",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "subtree kept against the settings",
        "azcore/search/memory.py",
        "reuse = settings.reuse_subtree and not settings.is_gumbel",
        "reuse = not settings.is_gumbel",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "no limit to a subtree",
        "azcore/search/roots.py",
        "if not is_kept or size_of(trees.tree, b) > trees.most_kept:",
        "if not is_kept:",
        ("tests/search/test_matches_reference.py",),
    ),
    Fault(
        "resignation without its threshold",
        "azcore/learner/sources.py",
        "self._pool.set_weights(self._weights_in_play(), self._find_threshold())",
        "self._pool.set_weights(self._weights_in_play(), None)",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "a process that is started again plays other games",
        "azcore/selfplay/remote.py",
        "for request in (*self._requests, *(",
        "for request in (*self._requests[1:], *(",
        ("tests/selfplay/test_processes.py",),
    ),
    Fault(
        "a part of a match that is lost is not played again",
        "azcore/selfplay/remote.py",
        "*(each.request for each in self._open.values())",
        "",
        ("tests/arena/test_spread.py",),
    ),
    Fault(
        "parts of a match in the wrong places",
        "azcore/arena/spread.py",
        "games[2 * number + seat :: 2 * count] = played.games[seat::2]",
        "games[2 * number + 1 - seat :: 2 * count] = played.games[seat::2]",
        ("tests/arena/test_spread.py",),
    ),
    Fault(
        "a match under way is forgotten by a checkpoint",
        "azcore/algorithms/ratings.py",
        "return self._matches.state_dict()",
        "return {}",
        ("tests/algorithms/test_overlap.py",),
    ),
    Fault(
        "a gate promotes the weights of now",
        "azcore/algorithms/alphagozero.py",
        "self._best.load_state_dict(self._candidate.state_dict())",
        "self._best.load_state_dict(pl_module.playing.state_dict())",
        ("tests/algorithms/test_overlap.py",),
    ),
    Fault(
        "calls of a Ray actor in the order of arrival",
        "azcore/selfplay/ray_actors.py",
        "if turn != self._turn:",
        "if False:",
        ("tests/selfplay/test_ray.py",),
    ),
    Fault(
        "a game that has ended goes on after a resume",
        "azcore/learner/data.py",
        "source = without_ended(source, {record.game_index for record in since})",
        "pass",
        ("tests/algorithms/test_overlap.py",),
    ),
    Fault(
        "self-play runs away from the learner",
        "azcore/learner/data.py",
        "self.source.play_on(self._wanted(generation + 1))",
        "self.source.play_on(self._wanted(generation + 1000))",
        ("tests/algorithms/test_overlap.py",),
    ),
    Fault(
        "self-play with the first weights for ever",
        "azcore/algorithms/training.py",
        "playing, version = who_plays(network, self._trainer.global_step)",
        "playing, version = build_network(settings.game, settings.network, settings.seed), "
        "self._trainer.global_step",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "workers in processes begin elsewhere",
        "azcore/assembly/selfplay.py",
        "settings.selfplay, first, starts, numbers",
        "settings.selfplay, first, None, numbers",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "workers in processes keep their first weights",
        "azcore/networks/served.py",
        "network.load_state_dict(",
        "dict(",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "a run that does not begin leaves its pool",
        "azcore/algorithms/training.py",
        "            self.close()  # else processes",
        "            pass  # processes",
        ("tests/algorithms/test_overlap.py",),
    ),
    Fault(
        "a lost process plays a whole run again",
        "azcore/learner/overlap.py",
        "        self._has_newest = False  # for the next generation\n",
        "",
        ("tests/learner/test_overlap.py",),
    ),
    Fault(
        "scores after a move keep the view of its player",
        "azcore/engine/analysis_answer.py",
        "**_lead(variation.prediction, sign),",
        "**_lead(variation.prediction, 1),",
        ("tests/engine/test_analysis.py",),
    ),
    Fault(
        "the page says what the network says in the view of the mover",
        "azcore/web/view.py",
        "seen = prediction if sign > 0 else prediction.of_other_player()",
        "seen = prediction",
        ("tests/web/test_room.py",),
    ),
    Fault(
        "the page plays old weights of a run that goes on",
        "azcore/web/players.py",
        'if entry.group != "runs":',
        "if True:",
        ("tests/web/test_room.py",),
    ),
    Fault(
        "a room closes before its order is done",
        "azcore/web/app.py",
        "await asyncio.shield(do(request))",
        "await do(request)",
        ("tests/web/test_room.py",),
    ),
    Fault(
        "a page that reads nothing is answered without end",
        "azcore/web/app.py",
        "                await answers.are_few()\n",
        "",
        ("tests/web/test_room.py",),
    ),
    Fault(
        "a thought of another position",
        "azcore/web/room.py",
        "        self._stop()\n        self._ply = ply\n",
        "        self._ply = ply\n",
        ("tests/web/test_room.py",),
    ),
    Fault(
        "a solver ends a search that is looked into",
        "azcore/web/inside.py",
        "solve=False,",
        "",
        ("tests/web/test_inside.py",),
    ),
    Fault(
        "published before it is looked at",
        "azcore/algorithms/loop.py",
        "        self.guard.check(trainer, module)",
        "        self.algorithm.publish(trainer, module)",
        ("tests/algorithms/test_loop.py",),
    ),
    Fault(
        "self-play with another game",
        "azcore/assembly/selfplay.py",
        "variant=settings.selfplay_game",
        "variant=settings.game",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "self-play with another seed",
        "azcore/assembly/selfplay.py",
        "        seed=settings.seed,\n        evaluator=evaluator,",
        "        seed=0,\n        evaluator=evaluator,",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "augmentation passed over",
        "azcore/assembly/parts.py",
        "augment=self.replay.augment",
        "augment=False",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "another window",
        "azcore/assembly/parts.py",
        "window_games=self.replay.window_games",
        "window_games=1000",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "rates of another length",
        "azcore/algorithms/training.py",
        "            max_steps=trainer.max_steps,\n            description",
        "            max_steps=700_000,\n            description",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "the clock passed over",
        "azcore/algorithms/training.py",
        "            time_share=self._time_share,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "the rate of a resumed clock",
        "azcore/learner/module.py",
        'optimizer.param_groups[0]["lr"] = self.learning_rate(self.trainer.global_step)',
        "pass",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "one batch for two steps",
        "azcore/learner/data.py",
        "step, rows = self._share.of(batch, self.batch_size)",
        "step, rows = self._share.of(batch // 2, self.batch_size)",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "surplus positions forgotten",
        "azcore/learner/data.py",
        "positions=positions - self.total_positions",
        "positions=max(1, positions // (generation + 1))",
        ("tests/learner/test_data.py",),
    ),
    Fault(
        "surplus games forgotten",
        "azcore/learner/data.py",
        "games=games - self.total_games",
        "games=games // (generation + 1)",
        ("tests/learner/test_data.py",),
    ),
    Fault(
        "matches at temperature 1",
        "azcore/arena/players.py",
        "return self._temperature if self._plies[row] < self._temperature_plies else 0.0",
        "return 1.0",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "matches without a subtree",
        "azcore/arena/players.py",
        "        self._begun().advance(row, action)\n",
        "        self._begun().advance(row, action)\n        self._begun()._clear(row)\n",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "matches with the simulations of self-play",
        "azcore/assembly/parts.py",
        "num_simulations=num_simulations or settings.arena.num_simulations",
        "num_simulations=num_simulations or settings.search.num_simulations",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "a gate at 2 simulations",
        "azcore/algorithms/alphagozero.py",
        "return settings.gate.num_simulations or settings.search.num_simulations",
        "return 2",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "a gate of the candidate against itself",
        "azcore/algorithms/alphagozero.py",
        '(self._best, self._best_step, "best"),',
        '(self._candidate, self._best_step, "best"),',
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "the first best player for ever",
        "azcore/algorithms/alphagozero.py",
        "            self._best.load_state_dict(self._candidate.state_dict())\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "self-play looks at no clock",
        "azcore/algorithms/training.py",
        "return not self._clock.must_learn(made / max(1, wanted))",
        "return True",
        ("tests/algorithms/test_clock.py",),
    ),
    Fault(
        "all steps of a generation whose games are missing",
        "azcore/learner/data.py",
        "self.last_step = self._steps_paid(generation)",
        "self.last_step = None",
        ("tests/algorithms/test_clock.py",),
    ),
    Fault(
        "games that were missing are never played",
        "azcore/learner/data.py",
        "if self.between_generations or self.was_cut:",
        "if self.between_generations:",
        ("tests/algorithms/test_clock.py",),
    ),
    Fault(
        "the time of the parts before a resume",
        "azcore/algorithms/clock.py",
        "return self._before + time.monotonic() - self._began",
        "return time.monotonic() - self._began",
        ("tests/algorithms/test_clock.py",),
    ),
    Fault(
        "a match that is in the folder is played again",
        "azcore/commands/arena/matches.py",
        "result = before.get(pairing.match)",
        "result = None",
        ("tests/commands/arena/test_tournament.py",),
    ),
    Fault(
        "no rating of the first weights",
        "azcore/algorithms/ratings.py",
        "if trainer.global_step == 0:",
        "if trainer.global_step < 0:",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "no rating at the end",
        "azcore/algorithms/ratings.py",
        "(is_last or (moment.generation + 1) % every == 0)",
        "((moment.generation + 1) % every == 0)",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "ratings of the weights before",
        "azcore/algorithms/ratings.py",
        "seed, player = self._seed(moment), self._playing(module, moment.step)",
        "seed = self._seed(moment)\n"
        "            player = self.__dict__.setdefault("
        "'first', self._playing(module, moment.step))",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "surprise at the noise",
        "azcore/selfplay/moves.py",
        "priors = in_play.clean_priors[b, :count]",
        "priors = root.priors[:count]",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "nobody records surprise",
        "azcore/assembly/selfplay.py",
        "        record_surprise=settings.replay.surprise_share > 0,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "the latest weights play for their average",
        "azcore/algorithms/training.py",
        "settings, network = self._settings, self._module.playing",
        "settings, network = self._settings, self._module.network",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "the latest weights are saved as their average",
        "azcore/learner/module.py",
        'self.average.state_dict(prefix="network.")',
        'self.network.state_dict(prefix="network.")',
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "pairs that repeat count",
        "azcore/arena/match.py",
        "pairs.setdefault(moves, (game, other))",
        "pairs[len(pairs)] = game, other",
        ("tests/arena/test_match.py",),
    ),
    Fault(
        "search is judged by other symmetries",
        "azcore/assembly/parts.py",
        "SymmetricEvaluator(evaluator, self.game, self.seed, version)",
        "SymmetricEvaluator(evaluator, self.game, 0, 0)",
        ("tests/algorithms/test_alphagozero.py",),
    ),
    Fault(
        "every search in full",
        "azcore/selfplay/moves.py",
        "return bool(draw[0] < share)",
        "return True",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "cheap searches learned from",
        "azcore/selfplay/moves.py",
        "    if game.is_full:\n",
        "    if True:\n",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "no value of the search in the target",
        "azcore/assembly/parts.py",
        "            root_value_share=self.replay.root_value_share,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "all positions of a game teach the value",
        "azcore/assembly/parts.py",
        "            value_positions=self.replay.value_positions,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "values without their weights",
        "azcore/learner/module.py",
        'batch.get("value_weights")',
        "None",
        ("tests/learner/test_module.py",),
    ),
    Fault(
        "no auxiliary targets in the window",
        "azcore/assembly/parts.py",
        "            targets=self.network.targets,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "auxiliary losses without their weights",
        "azcore/learner/module.py",
        "self.settings.auxiliary_weights.get(name, 0.0) * part",
        "part",
        ("tests/learner/test_auxiliary.py",),
    ),
    Fault(
        "owners where a player resigned",
        "azcore/storage/ends.py",
        "by_rules = record.resigned_by is None and not record.agreed",
        "by_rules = True",
        ("tests/storage/test_targets.py",),
    ),
    Fault(
        "material of seat 0 for both",
        "azcore/storage/replay.py",
        'auxiliary["material"] = ends["material"] * sign',
        'auxiliary["material"] = ends["material"]',
        ("tests/storage/test_targets.py",),
    ),
    Fault(
        "a lead in pieces that does not turn with the player",
        "azcore/search/predictions.py",
        "material=None if self.material is None else -self.material,",
        "material=self.material,",
        ("tests/networks/test_predictor.py",),
    ),
    Fault(
        "owners that do not turn with the board",
        "azcore/storage/replay.py",
        'auxiliary["ownership"] = self._symmetries.map_observations(cells, chosen)[:, 0]',
        "pass",
        ("tests/storage/test_targets.py",),
    ),
    Fault(
        "imported games are won by whoever lost",
        "azcore/storage/imported_records.py",
        "outcome = stated if outcome is None else outcome",
        "outcome = -stated if outcome is None and stated else outcome",
        ("tests/commands/test_import.py",),
    ),
    Fault(
        "a bad game spoils the rest of its file",
        "games/chess/pgn.py",
        "is_header &= follows_empty or not in_comment",
        "is_header &= not in_comment",
        ("tests/games/test_transcript_formats.py",),
    ),
    Fault(
        "a run that begins with random weights all the same",
        "azcore/algorithms/training.py",
        "            network.load_state_dict(weights)\n",
        "            pass\n",
        ("tests/algorithms/test_origin.py",),
    ),
    Fault(
        "weights of another network to begin with",
        "azcore/algorithms/origin.py",
        '_require_same(theirs["network"], expected["network"]',
        '_require_same(expected["network"], expected["network"]',
        ("tests/algorithms/test_origin.py",),
    ),
    Fault(
        "a fork measures the machine anew",
        "azcore/algorithms/origin.py",
        "            (source.sizes, target.sizes),\n",
        "",
        ("tests/algorithms/test_origin.py",),
    ),
    Fault(
        "a fork takes the last records with it",
        "azcore/storage/game_file.py",
        "file.read(min(left, 1 << 20))",
        "file.read(1 << 20)",
        ("tests/storage/test_game_file.py",),
    ),
    Fault(
        "a closed part of another place is read",
        "azcore/storage/game_file.py",
        "if part.end != place or part.before.place >= place:",
        "if part.before.place >= place:",
        ("tests/storage/test_game_file.py",),
    ),
    Fault(
        "parts closed after the place of a resume stay",
        "azcore/storage/game_file.py",
        "                path.unlink()\n\n    def _end_of",
        "                pass\n\n    def _end_of",
        ("tests/storage/test_game_file.py",),
    ),
    Fault(
        "a window on disk grows where it was written round",
        "azcore/storage/ring.py",
        " and self.end <= len(self.room):",
        ":",
        ("tests/storage/test_replay.py",),
    ),
    Fault(
        "every game from the same start",
        "azcore/selfplay/worker.py",
        "self._rng(Purpose.START, opening.game_index)",
        "self._rng(Purpose.START, 0)",
        ("tests/selfplay/test_matches_reference.py",),
    ),
    Fault(
        "records without their start",
        "azcore/selfplay/worker.py",
        "            start=self._texts[row],\n        )\n        if self._referee",
        "        )\n        if self._referee",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "a resumed game goes on from the initial state",
        "azcore/selfplay/worker.py",
        "self._search.start(row, self._start_states.of(opening.start))",
        "self._search.start(row)",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "the window replays from the initial state",
        "azcore/storage/replay.py",
        "        scratch.roots.replay(Paths(roots, paths,",
        "        scratch.roots.replay(Paths(0 * roots, paths,",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "the window keeps the first start alone",
        "azcore/storage/start_states.py",
        "        return states, places[1:].astype(np.int32)",
        "        return states, np.minimum(places[1:], 1).astype(np.int32)",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "the referee begins at the beginning",
        "azcore/storage/referee.py",
        "state = self._starts.of(start)",
        "state = self._starts.of(None)",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "ends of games from the initial state",
        "azcore/storage/ends.py",
        "self._starts.of(record.start)",
        "self._starts.of(None)",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "transcripts without their start",
        "azcore/storage/transcripts.py",
        "        start_text=record.start,\n",
        "",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "self-play without the starts that the game names",
        "azcore/assembly/parts.py",
        "            return starts_of_game(self.game, variant)\n",
        "            return None\n",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "files of starts beside those that the game names",
        "azcore/assembly/parts.py",
        "        if not files:\n",
        "        if True:\n",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "a small board with as many plies as the large one",
        "games/go/rules.py",
        "max_plies(int(state.size_in_play))",
        "max_plies(state.history.shape[0])",
        ("tests/games/go/test_several.py",),
    ),
    Fault(
        "weights of other settings that fit nothing",
        "azcore/algorithms/origin.py",
        "        require_fitting(checkpoint, game)\n",
        "        pass\n",
        ("tests/algorithms/test_origin.py",),
    ),
    Fault(
        "a branch begins at the beginning",
        "azcore/selfplay/worker.py",
        "branch = Opening(game_index=index, start=before.start)",
        "branch = Opening(game_index=index)",
        ("tests/selfplay/test_starts.py",),
    ),
    Fault(
        "self-play without its starts",
        "azcore/assembly/selfplay.py",
        "        starts=starts,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "matches of a run without their starts",
        "azcore/algorithms/ratings.py",
        "            starts=self._starts,\n",
        "",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "starts drawn again before others came",
        "azcore/storage/starts.py",
        "for at in rng.permutation(len(self._lines)):",
        "for at in rng.integers(0, len(self._lines), len(self._lines)):",
        ("tests/storage/test_starts.py",),
    ),
    Fault(
        "operations where counters are wrong",
        "azcore/storage/positions.py",
        "word for word in words if _OPERATIONS.fullmatch(line, word)",
        "word for word in words",
        ("tests/storage/test_starts.py",),
    ),
    Fault(
        "a word that is not a move is taken for one",
        "games/chess/pgn.py",
        "if SAN.fullmatch(plain):",
        "if plain := plain[-2:]:",
        ("tests/games/chess/test_notation.py",),
    ),
    Fault(
        "a game with a fault is no start at all",
        "azcore/storage/starts.py",
        "isinstance(found, TranscriptError) and found.before is None:",
        "isinstance(found, TranscriptError):",
        ("tests/storage/test_starts.py",),
    ),
    Fault(
        "a start from a game one ply early",
        "azcore/storage/starts.py",
        "        for action in line.actions[:plies]:\n",
        "        for action in line.actions[: plies - 1]:\n",
        ("tests/storage/test_starts.py",),
    ),
    Fault(
        "settings without effect pass",
        "azcore/cli/overrides.py",
        "        require_effective(settings, own)",
        "        pass",
        ("tests/test_effects.py",),
    ),
    Fault(
        "what no job of a sweep uses passes",
        "azcore/cli/overrides.py",
        "    for sentence in (unused or {}).values():",
        "    for sentence in ():",
        ("tests/commands/test_sweep.py",),
    ),
    Fault(
        "what one job of a sweep uses is refused",
        "azcore/cli/overrides.py",
        "{key: unused[key] for key in unused if key in here}",
        "unused",
        ("tests/commands/test_sweep.py",),
    ),
    Fault(
        "a comparison plays elsewhere than auto says",
        "azcore/commands/arena/matches.py",
        "backend = backend.on(settings.device.type)",
        "pass",
        ("tests/commands/test_sweep.py",),
    ),
    Fault(
        "a served process keeps earlier weights",
        "azcore/networks/served.py",
        "slot.evaluator.load(new)",
        "pass",
        ("tests/networks/test_served.py",),
    ),
    Fault(
        "results beside the memory of a client",
        "azcore/networks/evaluator.py",
        "self._host.values[:positions] = values",
        "self._host.values[:] = 0",
        ("tests/networks/test_served.py",),
    ),
    Fault(
        "weights that are not used any more stay",
        "azcore/networks/served.py",
        "channel.ask(LEAVE)",
        "pass",
        ("tests/networks/test_served.py",),
    ),
    Fault(
        "members forget their server",
        "azcore/assembly/selfplay.py",
        "evaluation=evaluation, server=server)",
        "evaluation=evaluation)",
        ("tests/selfplay/test_served.py",),
    ),
    Fault(
        "a fused convolution without its skip",
        "azcore/networks/fusing.py",
        "y if skip is None else y + skip",
        "y",
        ("tests/networks/test_fusing.py",),
    ),
    Fault(
        "a fused network that computes something else",
        "azcore/networks/fusing.py",
        "if all(map(_is_close, results, expected)):",
        "if True:",
        ("tests/networks/test_fusing.py",),
    ),
    Fault(
        "a fused pooled block that adds nothing from elsewhere",
        "azcore/networks/fusing.py",
        "torch.relu_(y + self.to_bias(pooled)[:, :, None, None])",
        "torch.relu_(y + 0.0 * self.to_bias(pooled)[:, :, None, None])",
        ("tests/networks/test_fusing.py",),
    ),
    Fault(
        "fused heads that read each other's maxima",
        "azcore/networks/fusing.py",
        "policy, value = [0, 2], [1, 3]",
        "policy, value = [0, 3], [1, 2]",
        ("tests/networks/test_fusing.py",),
    ),
    Fault(
        "a generation's losses are those of its last step",
        "azcore/learner/module.py",
        "added + torch.as_tensor(value).detach().float(), count + 1",
        "torch.as_tensor(value).detach().float(), 1",
        ("tests/algorithms/test_wiring.py",),
    ),
    Fault(
        "games in play are saved with others' policy targets",
        "azcore/selfplay/worker.py",
        "arrays |= {name: named[name] for name in NAMED.names or ()}",
        "arrays |= {name: named[name][::-1] for name in NAMED.names or ()}",
        ("tests/selfplay/test_actor.py",),
    ),
    Fault(
        "a method without effect passes",
        "azcore/cli/effects.py",
        "keys_of_method(str(method)) for method in chosen",
        "[] for method in chosen",
        ("tests/test_effects.py",),
    ),
    Fault(
        "a run on a GPU takes the scale of a laptop",
        "azcore/cli/machine.py",
        "[*words[:first], *scale, *words[first:]]",
        "list(words)",
        ("tests/test_cli.py",),
    ),
    Fault(
        "processes although there is no GPU",
        "azcore/selfplay/backend.py",
        'device_type == "cuda" or self.processes is not None',
        "True",
        ("tests/selfplay/test_served.py",),
    ),
    Fault(
        "methods left out of a resumed run",
        "azcore/cli/continuing.py",
        "touched += _of_other_methods(chosen, has)",
        "pass",
        ("tests/test_methods.py",),
    ),
]


def verdict(fault: Fault) -> str:
    """Plants it and runs its tests: "caught", "missed", or "endless" when they did not end."""
    tests = fault.tests or next(row.tests for row in rows() if row.item == fault.item)
    path = ROOT / fault.file
    sound = path.read_text()
    assert sound.count(fault.old) == 1, f"{fault.item}: {fault.old!r} is not in {fault.file} once"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        path.write_text(sound.replace(fault.old, fault.new))
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=900)
    except subprocess.TimeoutExpired:
        return "endless"
    finally:
        path.write_text(sound)
    # A crash of the whole process is seen as well; a status of 2 or more is pytest's own trouble.
    return "caught" if ended.returncode == 1 or ended.returncode < 0 else "missed"


def main(wanted: list[str]) -> int:
    chosen = [
        fault
        for fault in FAULTS + WIRING
        if not wanted or fault.item in wanted or (fault in WIRING and "wiring" in wanted)
    ]
    missed = []
    for fault in chosen:
        found = verdict(fault)
        print(f"{found:7} {fault.item}: {fault.file}", flush=True)
        if found != "caught":
            missed.append(fault.item)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
