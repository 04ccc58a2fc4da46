"""`method=`: overlays of single methods, in any number, on whatever a run is otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from azcore.assembly.parts import RunSettings, settings_from
from azcore.cli import plugins
from azcore.cli.plugins import methods
from azcore.commands.train import train
from azcore.errors import SettingError
from azcore.storage.run_settings import flat
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]
METHODS = {
    file.name.removesuffix(".yaml"): yaml.safe_load(file.read_text())
    for file in files("azcore.conf").joinpath("method").iterdir()
    if file.name.endswith(".yaml")
} | methods()


ALPHAZERO = ("game=go", "algorithm=alphazero")
AZCORE = ("game=go", "algorithm=azcore")
WITHOUT = "without_"  # how those begin that take a method of azcore's away


def changed(*overrides: str) -> dict[str, Any]:
    """The settings that differ from those of a plain run of AlphaZero."""
    plain = flat(compose(*ALPHAZERO))
    now = flat(compose("game=go", *overrides))
    return {key: value for key, value in now.items() if key not in plain or value != plain[key]}


def test_none_is_the_papers() -> None:
    assert len(METHODS) >= 6
    assert changed("algorithm=alphazero", "method=[]") == {}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_changes_what_its_file_says(name: str) -> None:
    method = dict(METHODS[name])
    base = AZCORE if name.startswith(WITHOUT) else ALPHAZERO
    # Another network or search, chosen by its name.
    swaps = [
        f"{group.removeprefix('override /')}={choice}"
        for swap in method.pop("defaults", [])
        for group, choice in swap.items()
    ]
    plain, own = flat(compose(*base, *swaps)), flat(method)
    network = []
    if any(key.startswith("network.") for key in own):
        network = ["network=pooled_res"]
        plain = flat(compose(*base, *network, *swaps))
    assert own.keys() <= plain.keys()
    said = {key: value for key, value in own.items() if value != plain[key]}
    assert said or swaps  # or it would be no method
    config = compose(*base, *network, f"method={name}")
    assert flat(config) == {**plain, **said}
    settings_from(config, RunSettings)


def test_several_add_up() -> None:
    both, *others = (
        changed("algorithm=alphazero", f"method={chosen}")
        for chosen in ("[playout_cap,warmup]", "[warmup,playout_cap]", "playout_cap", "warmup")
    )
    assert both == others[0] == {**others[1], **others[2]}  # in a list or alone
    assert len(both) >= 3


def test_targets_add_up() -> None:
    """Each brings the network that predicts it, and none takes back what another asked for."""
    chosen = "method=[ownership,global_pooling,wdl,reply]"
    network = compose(*ALPHAZERO, chosen)["network"]
    asked = {name for name, wanted in network["auxiliary"].items() if wanted}
    assert (network["name"], network["value"]) == ("pooled_res", "wdl")
    assert asked == {"ownership", "reply"}
    more = compose("game=go", "algorithm=azcore", "method=soft_policy")["network"]["auxiliary"]
    plain = compose("game=go", "algorithm=azcore")["network"]["auxiliary"]
    assert more == {**plain, "soft_policy": True} != plain


def test_azcore_is_alphazero_with_methods() -> None:
    """So that each of its departures has a row among the ablations."""
    methods = "adamw,global_pooling,ownership,score,reply,later_values,gumbel,proofs"
    methods = f"method=[{methods},adaptive_samples]"
    alphazero = compose(*ALPHAZERO, methods)
    assert compose("game=go", "algorithm=azcore") == {**alphazero, "algorithm": "azcore"}
    # Other games on a laptop have them too, and symmetries if they declare any.
    elsewhere = compose("game=tic_tac_toe", "algorithm=alphazero", methods)
    elsewhere["replay"]["augment"] = True
    assert compose("game=tic_tac_toe", "algorithm=azcore") == {**elsewhere, "algorithm": "azcore"}


def test_each_method_of_azcore_can_be_taken_away() -> None:
    """One at a time, and with all gone there is AlphaZero again, but for its network."""
    plain = [name for name in METHODS if name.startswith(WITHOUT)]
    assert len(plain) == 9
    rows = Path(__file__).parents[1].joinpath("docs/recipes.md").read_text()
    # What each is worth.
    assert all(f"\n| `{name.removeprefix(WITHOUT)}`" in rows for name in plain)
    without = compose(*AZCORE, f"method=[{','.join(plain)}]")
    alphazero = compose(*ALPHAZERO, "network=pooled_res", "network.pooling_every=0")
    assert {**without, "algorithm": "alphazero"} == alphazero


@pytest.mark.parametrize("scale", ["laptop", "workstation", "paper"])
def test_a_machine_needs_methods_and_a_paper_has_none(scale: str) -> None:
    wanted = "alphazero" if scale == "paper" else "azcore"
    assert compose(f"scale={scale}") == compose(f"scale={scale}", f"algorithm={wanted}")


@pytest.mark.parametrize("network", ["pooled_res", "transformer"])
def test_azcore_learns_its_targets_with_any_network_that_can(network: str) -> None:
    chosen = {"pooled_res": "method=[global_pooling]"}.get(network, f"network={network}")
    auxiliary = compose("game=go", "algorithm=azcore", chosen)["network"]["auxiliary"]
    asked = {name for name, wanted in auxiliary.items() if wanted}
    assert asked == {"ownership", "score", "reply", "later_values"}


def test_a_method_of_another_network_is_refused(azcore: CommandLine) -> None:
    status, _, errors = azcore(*ALPHAZERO, "method=ownership")
    assert status == 2
    assert errors == "azcore: there is no setting network.auxiliary in network=dual_res\n"


def test_later_words_win(tmp_path: Path) -> None:
    """Presets, then methods in the order of the list, then the command line."""
    for name, plies in (("long", 31), ("short", 3)):
        file = tmp_path / f"method/{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# @package _global_\nselfplay:\n  temperature_plies: {plies}\n")

    def plies(*overrides: str) -> int:
        where = f"hydra.searchpath=[file://{tmp_path}]"
        config = compose("game=go", "scale=laptop", where, *overrides)
        return int(config["selfplay"]["temperature_plies"])

    preset = files("azcore.conf").joinpath("preset/go_laptop.yaml").read_text()
    assert plies() == yaml.safe_load(preset)["selfplay"]["temperature_plies"]
    assert plies("method=long") == 31
    assert plies("method=long", "algorithm=alphagozero") == 31
    assert plies("method=[long,short]") == 3
    assert plies("method=[short,long]") == 31
    assert plies("selfplay.temperature_plies=7", "method=[long,short]") == 7


@pytest.mark.parametrize("name", ["warmup", "growing_window", "mine"])
def test_a_package_cannot_replace_a_method_of_azcore(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A composition would take the package's, and a resume compare with azcore's."""
    (tmp_path / "method").mkdir()
    (tmp_path / f"method/{name}.yaml").write_text("seed: 2\n")
    monkeypatch.setattr(plugins, "plugin_folders", lambda: [("strange", tmp_path)])
    if name == "mine":
        plugins.register.__wrapped__()
        return
    message = rf"method/{name}.yaml: azcore has a method of this name; strange"
    with pytest.raises(SettingError, match=message):
        plugins.register.__wrapped__()


BEGUN = (
    *(word for word in TINY if not word.startswith("trainer.max_steps")),
    *("method=[playout_cap,warmup]", "selfplay.cheap_simulations=3", "run_dir=mine"),
)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    train(compose(*BEGUN, "trainer.max_steps=4", f"run_dir={folder}/mine"))
    return folder / "mine"


@pytest.fixture
def mine(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "mine"))


def resumes(azcore: CommandLine, mine: Path, *arguments: str) -> None:
    before = flat(yaml.safe_load((mine / "config.yaml").read_text()))
    status, output, errors = azcore(*arguments, "trainer.max_steps=8")
    assert (status, errors) == (0, "")
    assert "resuming from step 4" in output
    after = flat(yaml.safe_load((mine / "config.yaml").read_text()))
    # The command line adds the defaults of what the run has changed.
    after = {key: value for key, value in after.items() if not key.startswith("default.")}
    assert after == {**before, "trainer.max_steps": 8}


def test_the_command_line_that_began_a_run_resumes_it(azcore: CommandLine, mine: Path) -> None:
    """In whatever order it names the methods."""
    words = [word.replace("[playout_cap,warmup]", "[warmup,playout_cap]") for word in BEGUN]
    assert words != list(BEGUN)
    resumes(azcore, mine, *words, "resume=latest")


def test_a_run_keeps_its_methods(azcore: CommandLine, mine: Path) -> None:
    resumes(azcore, mine, "game=tic_tac_toe", "resume=mine")


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        # One more.
        ("[playout_cap,warmup,root_values]", "replay.root_value_share is 0.0 in the run, not 0.3"),
        # One or all less.
        ("warmup", "selfplay.full_search_share is 0.25 in the run, not 1.0"),
        ("[]", "learner.warmup_steps is 100 in the run, not 0"),
    ],
)
def test_others_are_refused(azcore: CommandLine, mine: Path, method: str, sentence: str) -> None:
    before = (mine / "config.yaml").read_bytes()
    chosen = ("resume=mine", f"method={method}", "selfplay.cheap_simulations=3")
    status, _, errors = azcore("game=tic_tac_toe", "algorithm=alphazero", *chosen)
    assert (status, errors.count("\n")) == (2, 1)
    assert f"resumes with the run's own method, got method={method}: {sentence}" in errors
    assert (mine / "config.yaml").read_bytes() == before


def test_the_numbers_of_a_method_are_not_put_back(azcore: CommandLine, mine: Path) -> None:
    """The run changed one of them; the method alone would silently undo that."""
    status, _, errors = azcore("game=tic_tac_toe", "resume=mine", "method=[playout_cap,warmup]")
    assert status == 2
    assert "selfplay.cheap_simulations is 3 in the run, not 16" in errors


@pytest.mark.parametrize(
    ("words", "fewest"),
    [
        ([], 0.5),
        (["replay.samples_per_position=0.25"], 0.25),
        (["replay.samples_per_position=null", "replay.games_per_generation=100"], None),
    ],
)
def test_another_number_of_samples_needs_no_second_word(
    words: list[str], fewest: float | None
) -> None:
    settings = settings_from(compose(*AZCORE, "device=cpu", *words), RunSettings)
    assert settings.replay.fewest_samples == fewest
