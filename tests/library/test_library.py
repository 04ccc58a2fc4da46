"""The objects of the library: what they say, what they refuse, and whether their numbers agree."""

from __future__ import annotations

import inspect
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pytest

import azcore
from azcore.arena.match import play_match
from azcore.errors import GameError, SettingError
from azcore.game import registry
from azcore.library import progress
from azcore.library.columns import Columns

SMALL = (
    "algorithm=alphazero",
    "network.blocks=1",
    "network.channels=4",
    "network.value_hidden=4",
    "search.num_simulations=8",
    "selfplay.num_games=4",
    "evaluator.precision=float32",
    "evaluator.backend=torch",
    "learner.batch_size=16",
    "learner.steps_per_generation=4",
    "arena.games=2",
    "arena.num_simulations=4",
    "arena.every_generations=2",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> azcore.Run:
    folder = tmp_path_factory.mktemp("library") / "run"
    return azcore.train("tic_tac_toe", *SMALL, steps=8, run_dir=folder, quiet=True)


@pytest.fixture
def no_offers() -> Iterator[None]:
    before = dict(registry._offered)
    yield
    registry._offered.clear()
    registry._offered.update(before)


# -- the front door ------------------------------------------------------------------------------


def test_importing_azcore_imports_nothing_heavy() -> None:
    heavy = "numpy", "numba", "torch", "hydra", "yaml"
    code = f"import sys, azcore; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in azcore.__all__:
        assert getattr(azcore, name) is not None
    assert set(azcore.__all__) <= set(dir(azcore))


@pytest.mark.parametrize("name", ["arena", "search"])
def test_a_package_is_also_the_function_of_its_name(name: str) -> None:
    from azcore.arena import match
    from azcore.search import mcts

    door = getattr(azcore, name)
    assert azcore.search.mcts is mcts
    assert azcore.arena.match is match
    assert callable(door)
    assert next(iter(inspect.signature(door).parameters)) in ("game", "players")


# -- search --------------------------------------------------------------------------------------


def test_a_search_finds_the_win_and_says_so() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("XX./OO./... x")
    found = azcore.search(game, state, simulations=200)
    assert game.action_to_text(state, found.best) == "c3"
    table = found.table()
    assert table["move"][0] == "c3"
    assert table["value"][0] == 1
    assert sum(table["visits"]) == found.simulations == 200
    assert table["share"][0] == pytest.approx(table["visits"][0] / 200)
    assert len(table["move"]) == game.legal_action_mask(state).sum()
    assert "X to move: c3" in repr(found)
    assert "<svg" in found._repr_html_()
    assert np.isclose(found.policy.sum(), 1)


def test_steps_make_the_same_tree_as_a_search_at_once() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("XX./OO./... x")  # a win at once
    at_once = azcore.search(game, state, simulations=60)
    one_by_one = azcore.search(game, state, simulations=0)
    assert one_by_one.simulations == 0
    steps = one_by_one.step(60)
    assert [step.number for step in steps] == list(range(1, 61))
    assert repr(one_by_one.table()) == repr(at_once.table())
    assert 1 in {step.value for step in steps}  # which the rules say in the view of the loser
    assert sum(step.value for step in steps) / 60 == pytest.approx(at_once.value)
    assert at_once.run(5).simulations == 65


def test_steps_end_where_all_is_proven() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("XX./OO./... x")
    found = azcore.search(game, state, simulations=0, solve=True)
    assert [step.leaf.is_terminal for step in found.step(20)][-1]
    assert 1 <= found.simulations < 20
    assert found.step(3) == []
    assert len(azcore.search(game, state, simulations=0).step(20)) == 20


def test_the_tree_adds_up() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("X.O/.X./..O x")
    root = azcore.search(game, state, simulations=150).tree
    assert root.visits == 150 == sum(child.visits for child in root.children)
    for node in root.walk():
        if node.parent is not None:
            assert np.array_equal(
                game.legal_action_mask(node.state),
                game.legal_action_mask(game.step(node.parent.state, node.action)),
            )
            assert game.is_terminal(node.state) == node.is_terminal
            # All visits of a node but the one that made it went on, unless the game is over.
            below = sum(child.visits for child in node.children)
            assert below == (0 if node.is_terminal else node.visits - 1)
    best = root.children[0]
    assert root.visits >= best.visits
    assert f"{best.text}  N {best.visits}" in repr(root)
    assert "<details" in root._repr_html_()


def test_values_are_in_the_view_of_whoever_chose() -> None:
    game = azcore.make("tic_tac_toe")
    state = game.state_from_text("XX./OO./X.. o")  # O wins by c2
    found = azcore.search(game, state, simulations=100)
    assert found.value > 0.5
    assert found.tree.children[0].value == 1
    blunder = next(child for child in found.tree.children if child.text == "b1")
    assert blunder.value < 0  # X wins then
    assert blunder.children[0].value > 0


def test_a_search_refuses_what_it_cannot_do() -> None:
    game = azcore.make("tic_tac_toe")
    over = game.state_from_text("XXX/OO./... o")
    with pytest.raises(GameError, match="the game is over"):
        azcore.search(game, over)
    with pytest.raises(SettingError, match=r"no setting search\.c_int; did you mean"):
        azcore.search(game, c_int=2.0)
    with pytest.raises(SettingError, match=r"game must be a game, as azcore\.make"):
        azcore.search("tic_tac_toe")
    with pytest.raises(SettingError, match="simulations must be 0 or more, got -1"):
        azcore.search(game, simulations=-1)
    with pytest.raises(SettingError, match="num_simulations must be left out: it is simulations="):
        azcore.search(game, num_simulations=800)
    with pytest.raises(SettingError, match="layer must be one of visits"):
        azcore.search(game, simulations=1).picture("heat")


def test_an_interrupted_search_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    game = azcore.make("tic_tac_toe")
    found = azcore.search(game, simulations=0)
    evaluate = found._search.evaluate
    calls = iter(range(100))

    def interrupted() -> Any:
        if next(calls) == 5:
            raise KeyboardInterrupt
        return evaluate()

    monkeypatch.setattr(found._search, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.run(50)
    assert found.run(50).simulations == 50


# -- runs and players ----------------------------------------------------------------------------


def test_a_picture_says_what_it_shows() -> None:
    game = azcore.make("tic_tac_toe")
    assert repr(azcore.draw(game, game.initial_state())) == "Picture of 342 × 342: Tic tac toe"
    light = azcore.search(game, simulations=9).picture("visits", theme="light")
    assert "var(" not in light.svg  # so that it is the same outside a page
    with pytest.raises(GameError, match="theme must be one of auto, light, dark, got 'blue'"):
        azcore.search(game, simulations=1).picture(theme="blue")


def test_a_run_says_what_it_made(run: azcore.Run) -> None:
    metrics = run.metrics
    assert metrics["step"] == [4, 8]
    assert all(isinstance(number, int) for number in metrics["games"])
    assert all(math.isfinite(loss) for loss in metrics["policy_loss"])
    assert math.isfinite(metrics["elo"][-1])
    assert metrics["elo_low"][-1] < metrics["elo"][-1] < metrics["elo_high"][-1]
    assert "2 generations, 8 steps" in repr(run)
    assert "tic_tac_toe" in run._repr_html_()
    assert run.settings["network"]["channels"] == 4
    assert len(list(run.records())) == metrics["games"][-1]
    report = run.report()
    assert report.path == run.path / "report.html"
    assert "srcdoc" in report._repr_html_()


def test_counts_of_a_long_run_are_exact_and_a_damaged_table_is_shown(
    run: azcore.Run, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_bytes((run.path / "config.yaml").read_bytes())
    long = azcore.Run(tmp_path)
    columns = "generation,step,games,seconds,policy_loss,value_loss"
    (tmp_path / "metrics.csv").write_text(f"{columns}\n0,1234567,7654321,60,1.5,0.5\n")
    assert (long.metrics["step"], long.metrics["games"]) == ([1234567], [7654321])
    assert "1,234,567 steps, 7,654,321 games" in repr(long)
    (tmp_path / "metrics.csv").write_text("generation,step\n0,4\n")
    assert "game" in repr(long)
    assert "tic_tac_toe" in long._repr_html_()
    text = (tmp_path / "config.yaml").read_text()
    (tmp_path / "config.yaml").write_text(re.sub(r"(?m)^game:\n(  .*\n)+", "game: chess\n", text))
    assert "Run" in repr(long)
    with pytest.raises(azcore.AzcoreError, match=r"must name a game, got 'chess'"):
        _ = long.game


def test_a_player_agrees_with_the_search_on_the_network(run: azcore.Run) -> None:
    player = run.player()
    assert player.step == 8
    assert "1x4" in repr(player)
    assert player._repr_html_().startswith("<div")
    state = player.game.initial_state()
    said = player.predict(state)
    found = azcore.search(player.game, state, player, simulations=0)
    within = 2e-3  # the search may evaluate in bfloat16, if that is measured to be faster
    assert found.value == pytest.approx(said.value, abs=within)
    assert found.result.priors == pytest.approx(said.policy[found.result.actions], abs=within)
    with pytest.raises(GameError, match="the game is over"):
        player.predict(player.game.state_from_text("XXX/OO./... o"))
    with pytest.raises(GameError, match=r"plays make\('tic_tac_toe'\), got make\('go'"):
        azcore.search(azcore.make("go", board_size=5), None, player)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "it's a run"  # a path that a command line would have to quote
    short = azcore.train("tic_tac_toe", *SMALL, steps=4, run_dir=folder, quiet=True)
    assert short.metrics["step"] == [4]
    longer = short.resume(steps=8, quiet=True)
    assert longer.metrics["step"] == [4, 8]
    assert longer.path == folder


def test_training_obeys_or_refuses(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no setting game\.bord_size"):
        azcore.train("go", bord_size=5)
    with pytest.raises(SettingError, match=r"game must be one of .*, got 'goo'; did you mean go"):
        azcore.train("goo")
    with pytest.raises(SettingError, match="minutes must be above 0, got 0"):
        azcore.train("tic_tac_toe", minutes=0)
    with pytest.raises(SettingError, match="players is for command=arena"):
        azcore.train("tic_tac_toe", "players=[random]")
    with pytest.raises(SettingError, match="already has its settings, got also stones"):
        azcore.train(azcore.make("tic_tac_toe"), stones=3)
    with pytest.raises(SettingError, match="composed settings are complete, but got also seed=2"):
        azcore.train(azcore.compose("game=tic_tac_toe"), "seed=2")
    with pytest.raises(SettingError, match="is not a run directory"):
        azcore.Run(tmp_path)


def test_composed_settings_train_as_they_are(tmp_path: Path) -> None:
    settings = azcore.compose("game=tic_tac_toe", *SMALL, seed=3)
    made = azcore.train(settings, steps=4, run_dir=tmp_path / "run", quiet=True)
    assert made.settings["seed"] == 3
    assert made.settings["search"] == settings["search"]
    assert made.metrics["step"] == [4]


# The signal may come between a file's opening and its `with`: Python closes it, and warns.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_ctrl_c_ends_training_and_returns_the_run(tmp_path: Path, capfd: Any) -> None:
    folder = tmp_path / "run"
    before = signal.getsignal(signal.SIGINT)

    def press() -> None:
        while not (folder / "checkpoints" / "last.ckpt").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    made = azcore.train("tic_tac_toe", *SMALL, steps=10**6, run_dir=folder)
    assert 1 <= made.metrics.height < 10**4
    assert "interrupted, saved up to" in capfd.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before
    assert made.player().step >= 4


def test_training_off_the_main_thread(tmp_path: Path) -> None:
    made: list[azcore.Run] = []

    def work() -> None:
        made.append(
            azcore.train("tic_tac_toe", *SMALL, steps=4, run_dir=tmp_path / "run", quiet=True)
        )

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made[0].metrics["step"] == [4]
    assert signal.getsignal(signal.SIGINT) is before


# -- matches -------------------------------------------------------------------------------------


def test_an_arena_rates_runs_functions_and_texts(run: azcore.Run) -> None:
    game = azcore.make("tic_tac_toe")

    def first_legal(state: Any) -> int:
        return int(game.legal_action_mask(state).argmax())

    ratings = azcore.arena([run, first_legal, "random", "search:64"], games=8, quiet=True)
    table = ratings.table()
    assert set(table["player"]) == {"run@last", "first_legal", "random", "search:64"}
    assert table["player"][0] == "search:64"
    assert table["elo"][table["player"].index("random")] == 0
    assert len(ratings.matches) == 6
    assert all(len(match.games) == 8 for match in ratings.matches)
    assert ratings.superiority("search:64", "random") > 0.9
    assert "Elo relative to random" in repr(ratings)
    assert ratings._repr_html_().startswith("<table")


def test_an_arena_refuses_what_it_cannot_rate(run: azcore.Run) -> None:
    with pytest.raises(SettingError, match="players must be two or more, got 1"):
        azcore.arena([run])
    with pytest.raises(GameError, match="no player determines the game"):
        azcore.arena(["random", "search"])
    with pytest.raises(SettingError, match="a player must be a Player, a Run, a text or"):
        azcore.arena([run, 3])  # type: ignore[list-item]
    with pytest.raises(GameError, match="plays make"):
        azcore.arena([run, "random"], game=azcore.make("go", board_size=5))
    for change in ("arena.format=gauntlet", "run_dir=x", "backend=process", "arena.export=json"):
        with pytest.raises(SettingError, match=r"here \(command=arena has others\), got"):
            azcore.arena([run, "random"], change)
    with pytest.raises(SettingError, match=r"arena\.anchors must be ratings of players"):
        azcore.arena([run, "random"], "arena.anchors={nobody:3}")
    with pytest.raises(SettingError, match=r"arena\.sprt is a test between two players, got 3"):
        azcore.arena([run, "random", "search:4"], "arena.sprt=true")
    with pytest.raises(GameError, match="no player determines the game"):
        azcore.arena(["gtp gnugo --weights net.ckpt", "random"])


def test_an_arena_obeys_its_settings(run: azcore.Run) -> None:
    """A checkpoint by name brings the game; a sequential test ends early; anchors are as given."""
    rated = azcore.arena([f"{run.path}@step-8", "search:64"], games=2, quiet=True)
    assert rated.table()["games"] == [2, 2]
    game = azcore.make("tic_tac_toe")
    rated = azcore.arena(
        ["search:64", "random"],
        "arena.sprt=true",
        "arena.anchors={random:100}",
        game=game,
        games=400,
    )
    assert len(rated.matches[0].games) < 400
    assert rated.table()["elo"][rated.table()["player"].index("random")] == 100
    assert "Elo relative to random at 100" in repr(rated)


def test_an_interrupted_arena_rates_what_was_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played = []

    def play(*arguments: Any, **options: Any) -> Any:
        if played:
            raise KeyboardInterrupt
        played.append(play_match(*arguments, **options))
        return played[-1]

    monkeypatch.setattr(import_module("azcore.library.matches"), "play_match", play)
    game = azcore.make("tic_tac_toe")
    rated = azcore.arena(["search:8", "search:4", "random"], game=game, games=2, quiet=True)
    assert sorted(rated.table()["player"]) == ["search:4", "search:8"]
    assert 0 <= rated.superiority("search:8", "search:4") <= 1


# -- settings ------------------------------------------------------------------------------------


def test_composed_settings_are_the_command_lines(compose: Any) -> None:
    here = azcore.compose("game=go", "game.board_size=5", method=["wdl"], seed=7)
    there = compose("game=go", "game.board_size=5", "method=[wdl]", "seed=7")
    assert dict(here) == there
    assert "num_simulations" in repr(here)


@pytest.mark.parametrize(
    ("value", "back"),
    [(None, None), (True, True), (2, 2), ("a b", "a b"), ("null", "null"), ('"\\', '"\\')],
)
def test_keywords_are_values_and_no_grammar(value: Any, back: Any) -> None:
    assert azcore.compose(run_dir=value)["run_dir"] == (None if back is None else str(back))


def test_a_program_that_uses_hydra_itself_can_compose() -> None:
    with hydra.initialize_config_module("azcore.conf", version_base="1.3"):
        assert azcore.compose("game=chess")["game"]["name"] == "chess"
        with pytest.raises(SettingError, match="no setting sed; did you mean seed"):
            azcore.compose("sed=1")
        assert hydra.compose("train", ["seed=5"]).seed == 5


# -- games of one's own --------------------------------------------------------------------------


@pytest.mark.usefixtures("no_offers")
def test_a_game_of_no_package_is_searched_trained_and_loaded(tmp_path: Path) -> None:
    plain = registry.make("tic_tac_toe_plain")
    facts = {"name": "mine", "settings": {}}
    kind = type(plain)

    class Mine(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.name = facts["name"]

    game = Mine()
    assert azcore.search(game, simulations=20).simulations == 20
    made = azcore.train(game, *SMALL, steps=4, run_dir=tmp_path / "run", quiet=True)
    assert made.settings["game"] == {"name": "mine"}
    registry._offered.clear()  # as in another process
    with pytest.raises(GameError, match="no game named 'mine'"):
        azcore.load(made.path)
    assert azcore.load(made.path, game=game).step == 4


@pytest.mark.usefixtures("no_offers")
def test_a_game_cannot_take_the_name_of_an_installed_one() -> None:
    class TicTacToe(type(azcore.make("tic_tac_toe_plain"))):  # type: ignore[misc]
        pass

    with pytest.raises(SettingError, match="TicTacToe must have its own name"):
        azcore.search(TicTacToe())


# -- showing -------------------------------------------------------------------------------------


def test_columns_print_and_escape() -> None:
    columns = Columns({"name": ["<b>", "x" * 60], "loss": [0.123456, math.nan], "n": [12345, 1]})
    assert columns.height == 2
    text, page = repr(columns), columns._repr_html_()
    assert "0.1235" in text
    assert "12,345" in text
    assert "nan" not in text
    assert "…" in text
    assert "\x1b" not in repr(Columns({"name": ["\x1b[2J"]}))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert columns.head(1).height == 1
    assert next(iter(columns.rows()))["n"] == 12345
    long = Columns({"n": list(range(100))})
    assert len(repr(long).splitlines()) == 14
    assert repr(Columns({"n": []})) == "no rows of n"
    assert Columns.of_rows(["a"], [{"a": 1}, {}])["a"][0] == 1


def test_a_notebook_shows_progress_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            shown.append(content["text/plain"])

    class Shell:
        kernel = object()

    class IPython:
        @staticmethod
        def get_ipython() -> Shell:
            return Shell()

    class Display:
        @staticmethod
        def display(content: dict[str, str], raw: bool, display_id: bool) -> Handle:
            shown.append(content["text/plain"])
            return Handle()

    assert not progress._in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", IPython)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", Display)  # type: ignore[arg-type]
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as kernels do
    display = progress.display_for(quiet=False)(console=None, max_steps=8)
    with display:
        display.show("self-play", 1, 4, "games")
        display.show("self-play", 4, 4, "games")
        display.say("a long line " * 20)
    assert capsys.readouterr().out == "a long line " * 20 + "\n"  # and nothing that moves a cursor
    assert shown == ["self-play 1 of 4 games", "self-play 4 of 4 games", " "]
