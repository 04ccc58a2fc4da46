"""The settings that define a run, saved to config.yaml and read back.

A run may come from anyone. Therefore they exclude players, programs to run and output paths, which
come from the command line that resumes the run.
"""

from collections.abc import Container, Mapping
from typing import Any

import yaml

from azcore.atomic import replacing
from azcore.errors import SettingError
from azcore.game.registry import require_received
from azcore.settings import require
from azcore.storage.run_directory import RunDirectory
from azcore.storage.untrusted import MAX_YAML, read_yaml, shortened

# The settings of a run by group or key: config.yaml saves only these, and only these are read from
# it. All other settings come from the command line that resumes the run, or from the defaults.
RUN: Mapping[str, type] = {
    "game": dict,
    "network": dict,
    "search": dict,
    "puct": dict,
    "evaluator": dict,
    "selfplay": dict,
    "replay": dict,
    "learner": dict,
    "plugins": dict,
    "gate": dict,
    "supervised": dict,
    "arena": dict,
    "sprt": dict,
    "trainer": dict,
    "export": dict,
    "seed": int,
    "device": str,
    "algorithm": str,
    "scale": str,
    "schedule": str,
}
# A run's origin, see `azcore.algorithms.origin`: not a setting, so no command line can set it.
ORIGIN = "origin"
OF_ORIGIN: Mapping[str, type] = {"how": str, "checkpoint": str, "step": int, "sha256": str}
# Objects that a Python program passed to a run, by class name, see `azcore.algorithms.objects`.
OBJECTS = "objects"
MOST_OBJECTS = 40
# The defaults of the settings that differed when the run began, by key: not a setting, either.
DEFAULT = "default"
# A person's notes on a run, without any effect.
NOTES = "run"
APART = ("device", ORIGIN, DEFAULT, NOTES)  # in which two runs of a kind may differ
LONGEST_NOTE = {"name": 80, "note": 1000, "tags": 40}  # characters; of each tag
MOST_TAGS = 20
OF_EXPORT = ("format", "per_generation")  # keys of that group that training uses
OF_ARENA = (  # keys of that group that training uses
    *("games", "opening_plies", "starts", "start_plies", "num_simulations", "every_generations"),
)
OF_MACHINE = ("devices", "num_nodes", "strategy")  # keys of `trainer` that no run keeps
# Settings are complete without these.
OPTIONAL = ("export", "device", "algorithm", "scale", "schedule")


# Settings of the group `search`, where older runs also have those of `puct`.
OF_SEARCH = (
    *("gumbel", "num_simulations", "leaves_per_tree", "transpositions", "stop_early", "solve"),
    *("proof_plies", "dirichlet_fraction", "dirichlet_alpha", "root_temperature", "forced_visits"),
)
OF_GUMBEL = ("gumbel", "num_simulations", "transpositions", "proof_plies")  # of Gumbel's search
# Settings that runs of 0.2.0 lack, with the values that reproduce what those runs did.
ADDED: dict[str, dict[str, Any]] = {
    "selfplay": {"start_share": 1.0, "round_waves": 16, "temperatures": [], "regret_share": 0.0},
    "replay": {
        "window_on_disk": False,
        "value_samples_per_game": None,
        "least_samples_per_position": None,
    },
    "trainer": {"accumulate_grad_batches": 1},
    "learner": {"sync_batch_norm": True, "compile": False, "auxiliary_weights": {"material": 4.0}},
    "plugins": {"targets": None, "augmentation": None, "learner": None, "algorithm": None},
    "puct": {"rule": None},
    "search": {"proof_plies": 0},
}
# Likewise for networks, by name; their checkpoints lack them, too.
ADDED_TO_NETWORKS: dict[str, dict[str, Any]] = {
    **{name: {"history": None} for name in ("dual_res", "sep_res", "dual_conv", "sep_conv")},
    "pooled_res": {
        "history": None,
        "activation": "relu",
        "preactivation": False,
        "squeeze_excite": 0,
        "bottleneck": 0,
        "auxiliary": {"material": False},
    },
    "transformer": {"history": None, "auxiliary": {"material": False}},
}


def save_config(run: RunDirectory, config: Mapping[str, Any]) -> None:
    """Save the run's own settings in one atomic write.

    Raises:
        SettingError: they are too long to be read back.
    """
    text = yaml.dump(_own(config), Dumper=_Dumper, sort_keys=False)
    if len(text.encode()) > MAX_YAML:
        raise SettingError(f"{run.config} must have at most {MAX_YAML:,} bytes of settings")
    with replacing(run.config) as file:
        file.write(text)


def own_settings(run: RunDirectory) -> dict[str, Any]:
    """The run's own settings as in its file, with types unchecked.

    Raises:
        SettingError: the file cannot be read.
    """
    config = _renamed(read_yaml(run.config))
    own = _own(config)
    if isinstance(trainer := config.get("trainer"), Mapping):
        # Runs once kept `devices`, which was always 1; any other foreign key is an error.
        own["trainer"] = {key: value for key, value in trainer.items() if key != "devices"}
    return own


def _renamed(config: dict[str, Any]) -> dict[str, Any]:
    """Settings under their current names and complete; those of current runs are unchanged."""
    if "learner" in config:
        config.setdefault("plugins", {})  # a group that is new as a whole
    search = config.get("search")
    if "puct" not in config and isinstance(search, dict):
        known = OF_SEARCH[1:] if search.get("gumbel") is None else OF_GUMBEL
        config["puct"] = {key: each for key, each in search.items() if key not in OF_SEARCH}
        config["search"] = {key: each for key, each in search.items() if key in known}
    for group, values in ADDED.items():
        if isinstance(config.get(group), dict):
            config[group] = _completed(config[group], values)
    if isinstance(config.get("network"), dict):
        config["network"] = completed_network(config["network"])
    return config


def completed_network(network: dict[str, Any]) -> dict[str, Any]:
    """A network's settings, from a run or a checkpoint, with those added later."""
    name = network.get("name")
    added = ADDED_TO_NETWORKS.get(name, {}) if isinstance(name, str) else {}
    return _completed(network, added)


def _completed(given: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Settings completed from `added`, also within groups that both have."""
    complete = {**added, **given}
    for key, values in added.items():
        if isinstance(values, Mapping) and isinstance(complete[key], Mapping):
            complete[key] = _completed(complete[key], values)
    return complete


def notes_in(written: object) -> dict[str, Any]:
    """Name, tags and note of a run, if it has them; skips anything else."""
    if not isinstance(written, Mapping):
        return {}
    found: dict[str, Any] = {}
    for key in ("name", "note"):
        if isinstance(text := written.get(key), str) and text:
            found[key] = text[: LONGEST_NOTE[key]]
    if isinstance(tags := written.get("tags"), list):
        texts = [tag[: LONGEST_NOTE["tags"]] for tag in tags if isinstance(tag, str) and tag]
        if texts:
            found["tags"] = texts[:MOST_TAGS]
    return found


def objects_in(written: object) -> dict[str, list[str]]:
    """The names of a run's learner and callbacks; skips anything that is not a name."""
    found = {}
    for key in ("learner", "callbacks"):
        names = written.get(key) if isinstance(written, Mapping) else None
        if isinstance(names, list):
            found[key] = [n[:80] for n in names if isinstance(n, str) and n.isidentifier()]
    return {key: names[:MOST_OBJECTS] for key, names in found.items() if names}


def require_notes(written: Mapping[str, Any]) -> None:
    """Check the notes on a run that a command line sets.

    Raises:
        SettingError: the message names the key.
    """
    for key in ("name", "note"):
        most, text = LONGEST_NOTE[key], written[key]
        fits = text is None or (isinstance(text, str) and len(text) <= most)
        require(fits, f"run.{key}", f"text of at most {most} characters, or null", text)
    most, tags = LONGEST_NOTE["tags"], written["tags"]
    fits = isinstance(tags, list) and len(tags) <= MOST_TAGS
    fits = fits and all(isinstance(tag, str) and 0 < len(tag) <= most for tag in tags)
    require(fits, "run.tags", f"at most {MOST_TAGS} words of at most {most} characters", tags)


def read_config(run: RunDirectory) -> dict[str, Any]:
    """The run's own settings from its file; ignores anything else in the file.

    Raises:
        SettingError: the file cannot be read, or a setting is missing or has the wrong type.
    """
    config = own_settings(run)
    config.pop(NOTES, None)
    for key, kind in RUN.items():
        if key in config:
            value = config[key]
            if not isinstance(value, kind) or isinstance(value, bool):
                named = {dict: "settings by name", int: "a whole number", str: "text"}[kind]
                raise SettingError(f"{run.config}: {key} must be {named}, got {shortened(value)}")
        elif key not in OPTIONAL:
            raise SettingError(f"{run.config} must hold the settings of a run; {key} is missing")
    name = config["game"].get("name")
    if not isinstance(name, str):
        raise SettingError(f"{run.config}: game.name must be text, got {shortened(name)}")
    return config


def require_received_games(config: Mapping[str, Any], named: Container[str] = ()) -> None:
    """Let the games of a run check its settings from a file, see `Game.require_received`.

    Args:
        named: keys that the command line sets, too, so they do not come from the file alone.

    Raises:
        GameError: a game refuses them, or is not installed.
    """
    game = config["game"]
    varied = (config.get("selfplay") or {}).get("game")
    for group, own in (("game", game), ("selfplay.game", varied)):
        if not isinstance(own, Mapping):
            continue  # reported when the run is built
        settings = {**game, **own}
        name = settings.pop("name")
        require_received(
            name,
            {
                key: value
                for key, value in settings.items()
                if f"{group if key in own else 'game'}.{key}" not in named
            },
        )


def _own(config: Mapping[str, Any]) -> dict[str, Any]:
    """The run's own settings among composed or saved ones, in the order of `RUN`."""
    own = {key: config[key] for key in RUN if config.get(key) is not None}
    if isinstance(own.get("export"), Mapping):
        own["export"] = {key: value for key, value in own["export"].items() if key in OF_EXPORT}
    if isinstance(own.get("arena"), Mapping):
        own["arena"] = {key: value for key, value in own["arena"].items() if key in OF_ARENA}
    if isinstance(own.get("trainer"), Mapping):
        kept = {key: value for key, value in own["trainer"].items() if key not in OF_MACHINE}
        own["trainer"] = kept
    if notes := notes_in(config.get(NOTES)):
        own[NOTES] = notes
    if objects := objects_in(config.get(OBJECTS)):
        own[OBJECTS] = objects
    if isinstance(origin := config.get(ORIGIN), Mapping) and origin:
        own[ORIGIN] = {
            key: origin[key] for key, kind in OF_ORIGIN.items() if type(origin.get(key)) is kind
        }
    if isinstance(defaults := config.get(DEFAULT), Mapping):
        known = {*own, *flat(own)}
        own[DEFAULT] = {key: value for key, value in defaults.items() if key in known}
    return own


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes repeated values in full, since the reader refuses aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(key, value in first, value in second) of each of the runs' own settings that differs.

    It skips `device`, origins, defaults and notes. A setting that only one run has is None in
    the other.
    """
    one, other = (
        flat({key: value for key, value in _own(each).items() if key not in APART})
        for each in (first, second)
    )
    return [
        (key, one.get(key), other.get(key))
        for key in {**one, **other}
        if one.get(key) != other.get(key)
    ]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{a: {b: 1}}` as `{"a.b": 1}`."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            values.update(flat(value, f"{prefix}{key}."))
        else:
            values[f"{prefix}{key}"] = value
    return values
