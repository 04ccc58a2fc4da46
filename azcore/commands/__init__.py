"""The commands that `command=` can name, each a file or a folder here; no lower layer uses them.

`COMMANDS` lists the function of each command and the settings that affect it; the command line
refuses other settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that `command=` can name."""

    run: str  # module:function, imported when called: --help needs no Lightning, an engine no torch
    obeys: str  # the groups and keys of the settings that affect it
    # Exceptions among these, and what to use instead; "" where nothing takes their place.
    instead: Mapping[str, str] = field(default_factory=dict)
    # Keys that affect the command unless certain others are set: these, and why.
    apart: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def is_told_by(self, key: str) -> bool:
        """Whether a key, or some key of a group, affects the command."""
        if any(f"{key}.".startswith(f"{other}.") for other in self.instead):
            return False
        return any(
            f"{key}.".startswith(f"{known}.") or known.startswith(f"{key}.")
            for known in self.obeys.split()
        )


OVERLAYS = "algorithm scale preset method"  # groups that set keys of other groups
WEIGHTS = "device evaluator.backend evaluator.precision"  # how a network runs, for every caller
SEARCHING = f"device seed search evaluator {OVERLAYS}"
TRAINING = (
    "game network search evaluator selfplay backend replay learner gate supervised sprt "
    "trainer schedule seed device logger "
    "arena.games arena.opening_plies arena.starts arena.start_plies "
    "arena.num_simulations arena.every_generations "
    f"export.format export.per_generation check.before_training {OVERLAYS}"
)
PLAYING = {  # matches and games against people have no noise
    "network": "a checkpoint brings its own",
    "search.dirichlet_alpha": "",
    "search.dirichlet_fraction": "",
    "search.gumbel.scale": "",
    "search.root_temperature": "",
    "search.forced_visits": "",
}
THINKING = {  # one tree that grows until a limit of the engine
    **PLAYING,
    "search.leaves_per_tree": "engine.leaves_per_tree is the number there",
    "search.reuse_limit": "engine.max_simulations is the limit there",
    "search.reuse_subtree": "",
    "search.gumbel": "",
    "search.stop_early": "",
}
KNOWN = dict.fromkeys(  # without a search
    ("engine.book", "engine.book_choice", "engine.book_plies", "engine.tablebase"),
    "command=engine has books and tablebases",
)
FROM_FILES = {"selfplay.starts": "", "selfplay.start_plies": ""}  # speed is that of whole games
IN_MATCHES = "arena.num_simulations is the number there"
WHICH_GAME = "game=NAME chooses a game"
WHO_PLAYS = "players=[...] are who plays in command=arena"

COMMANDS = {
    "train": Command(
        run="azcore.commands.train:train",
        obeys=f"{TRAINING} run_dir resume init fork experiment web",
        instead={
            "arena_dir": "run_dir is where a run is written",
            "checkpoint": "resume=RUN resumes a run, init=RUN begins another with its weights",
            "name": WHICH_GAME,
            "peers": WHO_PLAYS,
        },
    ),
    "arena": Command(
        run="azcore.commands.arena.tournament:tournament",
        obeys=f"game players checkpoint programs arena arena_dir sprt backend {SEARCHING}",
        instead={
            **PLAYING,
            "arena.every_generations": "",
            "peers": WHO_PLAYS,
            "run_dir": "arena_dir is where matches are written",
            "search.num_simulations": IN_MATCHES,
            "selfplay.opening_plies": "arena.opening_plies is the number there",
            "selfplay.start_plies": "arena.start_plies are the numbers there",
            "selfplay.starts": "arena.starts are the files there",
        },
    ),
    "engine": Command(
        run="azcore.commands.engine:serve",
        obeys=f"game checkpoint engine {SEARCHING}",
        instead={
            **THINKING,
            "search.num_simulations": "engine.num_simulations is the number there",
        },
    ),
    "play": Command(
        run="azcore.commands.play:play",
        obeys=f"game checkpoint play engine {SEARCHING}",
        instead={
            **THINKING,
            **KNOWN,
            "engine.log": "",
            "engine.move_overhead": "play.seconds is the time there",
            "engine.num_simulations": "play.num_simulations is the number there",
            "engine.ponder": "",
            "engine.protocol": "",
            "engine.time_share": "play.seconds is the time there",
            "players": "checkpoint=PATH is who plays against you",
            "search.num_simulations": "play.num_simulations is the number there",
        },
    ),
    "web": Command(
        run="azcore.commands.web:serve_page",
        obeys=f"game web engine {SEARCHING}",
        instead={
            **THINKING,
            **KNOWN,
            "checkpoint": "the page lists who can be played",
            "engine.log": "",
            "engine.max_simulations": "web.max_simulations is the number there",
            "engine.memory_mb": "web.memory_mb is the number there",
            "engine.move_overhead": "a visitor chooses the seconds",
            "engine.num_simulations": "web.num_simulations is the number there",
            "engine.ponder": "",
            "engine.protocol": "",
            "engine.report_seconds": "web.report_seconds is the number there",
            "engine.resign_below": "",
            "engine.time_share": "a visitor chooses the seconds",
            "run_dir": "web.runs is the folder of runs there",
            "search.num_simulations": "web.num_simulations is the number there",
        },
    ),
    "export": Command(
        run="azcore.commands.export.export:export",
        obeys="what game checkpoint out export.games export.format export.out export.first "
        "export.count export.position export.ply export.flip export.letters export.theme "
        "export.width",
        apart={
            "game": {
                "export.games": "records say what was played",
                "checkpoint": "a checkpoint knows its game",
            }
        },
        instead={
            "games": "export.games is what is read",
            "run_dir": "export.games is what is read and export.out where files go",
        },
    ),
    "import": Command(
        run="azcore.commands.import_games:import_games",
        obeys="game games out import",
        instead={
            "export": "out is the file that is written",
            "run_dir": "out is the file that is written",
            "supervised.games": "games=[...] are the files that are read",
        },
    ),
    "info": Command(
        run="azcore.commands.info:info",
        obeys="game checkpoint",
        instead={"game.name": "a checkpoint knows its game"},
    ),
    "publish": Command(
        run="azcore.commands.publish:publish",
        obeys="game checkpoint out publish",
        instead={"run_dir": "out is the file that is written"},
    ),
    "predict": Command(
        run="azcore.commands.predict:predict_games",
        obeys="game checkpoint supervised.games supervised.targets supervised.held_out "
        f"supervised.held_out_positions {WEIGHTS} {OVERLAYS}",
        instead={"network": PLAYING["network"]},
    ),
    "puzzles": Command(
        run="azcore.commands.puzzles:puzzles",
        obeys=f"game players checkpoint programs puzzles out arena.num_simulations {SEARCHING}",
        instead={
            **PLAYING,
            "arena.starts": "puzzles.files are the files there",
            "run_dir": "out is the file that is written",
            "search.num_simulations": IN_MATCHES,
        },
    ),
    "ladder": Command(
        run="azcore.commands.ladder:ladder",
        obeys="ladder seed",
        instead={"run_dir": "ladder.folder is where runs are"},
    ),
    "lesson": Command(
        run="azcore.commands.lesson:lesson",
        obeys="lesson run_dir seed",
        instead={
            "game": "lesson.games are what is trained",
            "trainer.max_time": "lesson.minutes is the time there",
        },
    ),
    "tune": Command(
        run="azcore.commands.tune.tune:tune",
        obeys=f"game checkpoint tune arena.num_simulations arena.opening_plies run_dir {SEARCHING}",
        instead={
            **PLAYING,
            "arena.games": "tune.games is the number there",
            "search.num_simulations": IN_MATCHES,
        },
    ),
    "bench": Command(
        run="azcore.commands.bench.bench:bench",
        obeys="game network search evaluator selfplay replay learner bench peers seed device "
        f"{OVERLAYS}",
        instead={
            "network.blocks": "bench.blocks is the number there",
            "network.channels": "bench.channels is the number there",
            "run_dir": "bench.path is the file that is written",
            **FROM_FILES,
        },
    ),
    "plan": Command(
        run="azcore.commands.plan:plan",
        obeys=f"{TRAINING} plan",
        instead={"run_dir": "plan.run is a run to compare the plan with"},
    ),
    "check": Command(
        run="azcore.commands.check.report:check",
        obeys=f"game network search evaluator selfplay check seed device {OVERLAYS}",
        instead={
            "check.before_training": "",
            "name": WHICH_GAME,
            "peers": WHO_PLAYS,
            **FROM_FILES,
        },
    ),
    "compare": Command(
        run="azcore.commands.compare.compare:compare",
        obeys="compare run_dir device supervised.games supervised.targets supervised.held_out "
        "supervised.held_out_positions",
        instead={
            "compare.after_sweep": "",
            "game": "runs say what was played",
            "players": "compare.runs are who plays",
            "search.num_simulations": "compare.num_simulations is the number there",
        },
    ),
    "report": Command(
        run="azcore.commands.report:report",
        obeys="run_dir device",
        instead={"game": "a run says what it plays"},
    ),
    "new": Command(
        run="azcore.commands.new:new_package",
        obeys="name new kind",
        instead={"game": "name=NAME is what the new game is called"},
    ),
}
