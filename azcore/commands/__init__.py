"""The commands: each has a file or folder here and a root in `conf/`; no lower layer uses them.

The root, `conf/NAME.yaml`, has all settings that affect the command; its first line describes it.
A command takes the composed settings and returns the exit status, 130 after an interrupt. It raises
an AzcoreError if a setting, a file or a checkpoint cannot be used.
"""

# Module and function, imported when called: --help needs no Lightning, an engine no torch.
COMMANDS = {
    "train": "azcore.commands.train:train",
    "arena": "azcore.commands.arena.arena:arena",
    "play": "azcore.commands.play:play",
    "web": "azcore.commands.web:serve_page",
    "engine": "azcore.commands.engine:serve",
    "export": "azcore.commands.export.export:export",
    "import": "azcore.commands.import_games:import_games",
    "predict": "azcore.commands.predict:predict_games",
    "info": "azcore.commands.info:info",
    "puzzles": "azcore.commands.puzzles:puzzles",
    "ladder": "azcore.commands.ladder:ladder",
    "tune": "azcore.commands.tune.tune:tune",
    "bench": "azcore.commands.bench.bench:bench",
    "check": "azcore.commands.check.report:check",
    "report": "azcore.commands.report:report",
    "runs": "azcore.commands.runs:runs",
    "new": "azcore.commands.new:new_package",
}
