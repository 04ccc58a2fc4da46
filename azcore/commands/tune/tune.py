"""`command=tune`: search constants by Gaussian-process optimisation of strength.

    repeat for each trial:
        Optuna's GPSampler proposes the most promising constants, given all trials so far
        the checkpoint with these constants plays a match against itself with the old ones
        the score is saved
    a model of all trials (`azcore.commands.tune.surface`) gives the constants with the best score
    these constants play against the old ones in fresh games

A trial is a function of the seed, its number and the trials before it, so a stopped tuning resumes
as if uninterrupted. Its folder holds

settings.yaml     what is tuned, and by which matches
tuning.csv        one row per trial
confirmation.csv  the last match
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import yaml
from rich.console import Console

from azcore import interrupts
from azcore.arena.elo import score_interval
from azcore.arena.match import MatchResult, play_match, require_pairs
from azcore.arena.players import SearchPlayer
from azcore.arena.sprt import PAIRS
from azcore.assembly.entrants import checkpoint_of
from azcore.assembly.parts import Config, MatchSettings, settings_from
from azcore.atomic import replacing
from azcore.chance import Purpose, generator
from azcore.commands.console import plain_table, table_console
from azcore.commands.result import write_result
from azcore.commands.tune.parameters import (
    Constants,
    Parameter,
    parameters_from,
    search_of,
    with_constants,
)
from azcore.commands.tune.surface import Floats, Height, Surface
from azcore.errors import SettingError, os_errors_as
from azcore.search.settings import SearchSettings
from azcore.settings import ONE_OR_MORE, Checked, build, require
from azcore.storage.run_directory import RUNS, locked
from azcore.storage.table import Table
from azcore.storage.untrusted import read_yaml, require_no_links

Match = Callable[[Constants, int, int], MatchResult]  # (constants tried, games, seed)


@dataclass(frozen=True, kw_only=True)
class TuneSettings(Checked, group="tune"):
    """How to tune; the numbers and reasons are in `conf/tune`."""

    trials: Annotated[int, ONE_OR_MORE]
    games: Annotated[int, PAIRS]
    startup_trials: Annotated[int, ONE_OR_MORE]
    confirming_games: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.confirming_games:
            require_pairs(self.confirming_games, "tune.confirming_games")


class Tuning:
    """The finished trials, those already in the folder among them, and the next one.

    The result of a match is that of the constants tried.
    """

    def __init__(
        self,
        *,
        parameters: Sequence[Parameter],
        options: TuneSettings,
        match: Match,
        folder: Path,
        seed: int,
        report: Callable[[int, Constants, MatchResult], None] = lambda *_: None,
    ) -> None:
        self._parameters, self._options = list(parameters), options
        self._match, self._seed, self._report = match, seed, report
        keys = [parameter.key for parameter in parameters]
        counts = ["wins", "draws", "losses"]
        self._table = Table(
            folder / "tuning.csv",
            ["trial", *keys, "score", *counts, "distinct_games", "pair_variance"],
        )
        self._confirmation = Table(
            folder / "confirmation.csv",
            ["games", *keys, "score", "low", "high", *counts, "distinct_games"],
        )

    @property
    def trials(self) -> list[dict[str, str]]:
        return self._table.rows(self._table.columns)

    def run(self) -> None:
        self._table.keep_before(len(self.trials))  # drops the incomplete row of a killed process
        for number in range(len(self.trials), self._options.trials):
            constants = self._proposal(number)
            result = self._match(constants, self._options.games, self._seed_of(number))
            self._table.append({"trial": number, **constants, **_row(result)})
            self._report(number, constants, result)

    def _seed_of(self, number: int) -> int:
        """The seed of a trial's constants and openings; each trial has its own."""
        return int(generator(Purpose.TUNING, self._seed, number).integers(2**31))

    def _proposal(self, number: int) -> dict[str, float]:
        optuna = _optuna()
        distributions = {p.key: p.distribution() for p in self._parameters}
        # A fresh sampler for each trial, so that nothing but the trials themselves is remembered.
        sampler = optuna.samplers.GPSampler(
            seed=self._seed_of(number),
            n_startup_trials=self._options.startup_trials,
            deterministic_objective=False,
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for row in self.trials:
            study.add_trial(
                optuna.trial.create_trial(
                    params=self._constants(row),
                    distributions=distributions,
                    value=self._table.number(row, "score"),
                )
            )
        proposed = study.ask(distributions).params
        # Rounded as in the rows, so that the match uses exactly the constants written there.
        return {p.key: p.from_unit(p.to_unit(proposed[p.key])) for p in self._parameters}

    def _constants(self, row: Mapping[str, str]) -> dict[str, float]:
        values = {p: self._table.number(row, p.key) for p in self._parameters}
        return {p.key: int(value) if p.is_whole else value for p, value in values.items()}

    def best(self) -> tuple[dict[str, float], Height]:
        """The constants with the highest score given all trials, and an estimate of that score."""
        rows = self.trials
        games = np.array([self._table.number(row, "distinct_games") for row in rows])
        variance = float(np.mean([self._table.number(row, "pair_variance") for row in rows]))
        surface = Surface(
            np.array([self._unit(self._constants(row)) for row in rows]),
            np.array([self._table.number(row, "score") for row in rows]),
            np.sqrt(variance / np.maximum(1, games / 2)),  # repeats add no information
        )
        highest = zip(self._parameters, surface.highest(), strict=True)
        constants = {p.key: p.from_unit(float(share)) for p, share in highest}
        return constants, surface.at(self._unit(constants))

    def _unit(self, constants: Constants) -> Floats:
        return np.array([p.to_unit(constants[p.key]) for p in self._parameters])

    def confirm(self, constants: Constants) -> dict[str, str] | None:
        """The row of the last match, played if missing; None if the settings ask for none."""
        games = self._options.confirming_games
        if not games:
            return None
        wanted = {"games": games, **constants}
        for row in self._confirmation.rows(self._confirmation.columns):
            if all(self._confirmation.number(row, key) == value for key, value in wanted.items()):
                return row
        seed = int(generator(Purpose.TUNING, self._seed, 0, ply=1).integers(2**31))
        result = self._match(constants, games, seed)
        low, high = score_interval(result.wins, result.draws, result.losses, result.distinct_games)
        counted = {k: v for k, v in _row(result).items() if k != "pair_variance"}
        self._confirmation.append({**wanted, **counted, "low": low, "high": high})
        return self._confirmation.rows()[-1]


def _row(result: MatchResult) -> dict[str, Any]:
    points = np.array([game.points for game in result.games])
    pairs = points.reshape(-1, 2).mean(axis=1)
    return {
        "score": result.score,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "distinct_games": result.distinct_games,
        # Both games of a pair share an opening, so pairs, not games, are independent samples.
        "pair_variance": float(pairs.var(ddof=1)) if len(pairs) > 1 else 0.125,
    }


def _optuna() -> Any:
    """Optuna, without its log messages on the terminal."""
    try:
        import optuna
        import scipy  # noqa: F401 - which its Gaussian processes need
    except ImportError as error:
        raise SettingError(
            f"command=tune needs the package {error.name}: pip install 'azcore[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def tune(config: Config) -> int:
    """Tune, and print the command line to use. Returns 0, or 130 after an interrupt.

    Raises:
        AzcoreError: a setting or the checkpoint cannot be used, or Optuna is missing.
    """
    if config["checkpoint"] is None:
        raise SettingError(
            "command=tune needs checkpoint=PATH, such as a run's checkpoints/last.ckpt"
        )
    _optuna()
    given = dict(config["tune"])
    parameters = parameters_from(given.pop("parameters"))
    options = build(TuneSettings, given, "tune")
    settings, checkpoint = settings_from(config, MatchSettings), checkpoint_of(config["checkpoint"])
    settings = replace(settings, search=search_of(settings.search, parameters))
    for share in (0.0, 1.0):  # refuse now, not at the first such trial
        with_constants(settings.search, {p.key: p.from_unit(share) for p in parameters})
    console = table_console()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="optuna")
        match = _matches(settings, checkpoint, console)
        folder = _folder(config, settings, parameters, options, checkpoint)
        with locked(folder):
            return _tune(config, parameters, options, match, folder, settings, console)


def _tune(
    config: Config,
    parameters: Sequence[Parameter],
    options: TuneSettings,
    match: Match,
    folder: Path,
    settings: MatchSettings,
    console: Console,
) -> int:
    def report(number: int, constants: Constants, result: MatchResult) -> None:
        words = "  ".join(f"{key} {value:g}" for key, value in constants.items())
        console.print(f"trial {number + 1} of {options.trials}  {words}  scores {result.score:.1%}")

    tuning = Tuning(
        parameters=parameters,
        options=options,
        match=match,
        folder=folder,
        seed=settings.seed,
        report=report,
    )
    console.print(f"trials are saved in {folder}", markup=False)
    if tuning.trials:
        console.print(f"resuming after {len(tuning.trials)} trials")
    try:
        tuning.run()
        constants, estimate = tuning.best()
        confirmed = tuning.confirm(constants)
    except KeyboardInterrupt:
        console.print(f"interrupted, {len(tuning.trials)} trials saved; the same command resumes")
        return interrupts.STATUS
    _print_trials(console, parameters, tuning.trials)
    console.print(
        f"best estimate from {len(tuning.trials)} trials: {_percent(estimate.value)} "
        f"[{_percent(estimate.low)}, {_percent(estimate.high)}] against the current constants, with"
    )
    console.print("  " + " ".join(f"{key}={value:g}" for key, value in constants.items()))
    if confirmed is not None:
        low, high = float(confirmed["low"]), float(confirmed["high"])
        verdict = (
            "better than the old ones"
            if low > 0.5
            else "worse than the old ones"
            if high < 0.5
            else "not distinguishable from the old ones in these games"
        )
        console.print(
            f"in {confirmed['games']} fresh games, {confirmed['distinct_games']} distinct, "
            f"{float(confirmed['score']):.1%} [{low:.1%}, {high:.1%}]: {verdict}"
        )
    write_result(
        config, folder=folder, constants=constants, score=vars(estimate), confirmed=confirmed
    )
    return 0


def _percent(score: float) -> str:
    return f"{min(max(score, 0.0), 1.0):.1%}"


def _print_trials(
    console: Console, parameters: Sequence[Parameter], rows: Sequence[Mapping[str, str]]
) -> None:
    keys = (p.key for p in parameters)
    table = plain_table(numbers=("trial", *keys, "score", "95 %", "distinct"))
    for row in sorted(rows, key=lambda row: -float(row["score"])):
        low, high = score_interval(
            *(int(row[name]) for name in ("wins", "draws", "losses", "distinct_games"))
        )
        table.add_row(
            str(int(row["trial"]) + 1),
            *(f"{float(row[p.key]):g}" for p in parameters),
            f"{float(row['score']):.1%}",
            f"{low:.0%} to {high:.0%}",
            row["distinct_games"],
        )
    console.print(table)


def _matches(settings: MatchSettings, checkpoint: Path, console: Console) -> Match:
    """Matches of a checkpoint against itself; the second player uses the old constants."""
    evaluator = settings.checkpoint_evaluator(checkpoint)

    def player(name: str, search: SearchSettings) -> SearchPlayer:
        return SearchPlayer(
            game=settings.game,
            evaluator=evaluator,
            settings=search,
            num_simulations=settings.arena.num_simulations,
            name=name,
        )

    old = player("old", settings.search)

    def match(constants: Constants, games: int, seed: int) -> MatchResult:
        with console.status("") as status:
            return play_match(
                settings.game,
                player("tried", with_constants(settings.search, constants)),
                old,
                num_games=games,
                opening_plies=settings.arena.opening_plies,
                seed=seed,
                progress=lambda done: status.update(f"{done} of {games} games have ended"),
            )

    return match


def _folder(
    config: Config,
    settings: MatchSettings,
    parameters: Sequence[Parameter],
    options: TuneSettings,
    checkpoint: Path,
) -> Path:
    """The folder of this tuning: `run_dir`, or one that the same command will find again."""
    with os_errors_as(SettingError, f"{checkpoint}: cannot be read"):
        weights = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    identity: dict[str, Any] = {
        "game": settings.game.identity,
        "checkpoint": weights,
        "seed": settings.seed,
        "search": asdict(settings.search),
        "precision": config["evaluator"]["precision"],
        "random_symmetry": settings.evaluation.random_symmetry,
        "num_simulations": settings.arena.num_simulations,
        "opening_plies": settings.arena.opening_plies,
        "games": options.games,
        "startup_trials": options.startup_trials,
        "parameters": {p.key: [p.low, p.high, "log" if p.is_log else ""] for p in parameters},
    }
    text = yaml.safe_dump(identity, sort_keys=False)
    identity = yaml.safe_load(text)  # as read back: YAML has lists, not tuples
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = Path(config["run_dir"] or RUNS / "tune" / settings.game.name / name).absolute()
    kept = folder / "settings.yaml"
    if kept.exists():
        require_no_links(folder)  # the folder is untrusted
        before = read_yaml(kept)
        for key, value in identity.items():
            require(before.get(key) == value, f"{key} in {folder}", f"{before.get(key)}", value)
    elif (folder / "config.yaml").exists():
        raise SettingError(f"run_dir {folder} holds a training run; a tuning needs its own folder")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as file:
            file.write(text)
    return folder
