"""`what=checkpoint` and command=info: a checkpoint with its card; networks that ship."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from azcore import __version__
from azcore.assembly import pretrained as shop
from azcore.commands.train import train
from azcore.errors import CheckpointError
from azcore.game.registry import make
from azcore.networks.checkpoint import load_network
from azcore.storage.card import card_of, require_card
from azcore.storage.checkpoint import KEY, halved, read_checkpoint, write_checkpoint
from conftest import TINY, compose

CommandLine = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    train(compose(*TINY, f"run_dir={folder}", "trainer.max_steps=8", "seed=5"))
    return folder


@pytest.fixture
def results(run: Path, tmp_path: Path) -> list[str]:
    """Two folders as command=arena writes them."""
    folders = []
    for name, row in (
        ("one", ("mine@last", "random", 50, 40, 3, 7)),
        ("other", ("random", "mine@last", 10, 1, 2, 7)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with (folder / "matches.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["player", "opponent", "games", "wins", "draws", "losses"])
            table.writerow(row)
        folders.append(str(folder))
    return folders


def test_a_network_to_give_away(azcore: CommandLine, run: Path, results: list[str]) -> None:
    status, output, errors = azcore(
        *("command=export", "what=checkpoint", f"checkpoint={run}", "out=small.ckpt"),
        f"export.results=[{','.join(results)}]",
        "export.conditions=eight simulations",
        'export.recipe="python -m azcore game=tic_tac_toe"',
    )
    assert (status, errors) == (0, "")
    assert "results: eight simulations:\n47 of 60 games against random, 5 drawn\n" in output
    small = Path("small.ckpt")
    kernels = [
        t for t in torch.load(small, weights_only=True)["state_dict"].values() if t.dim() > 1
    ]
    assert {tensor.dtype for tensor in kernels} == {torch.float16}
    status, shown, errors = azcore("command=info", "checkpoint=small.ckpt")
    assert (status, errors) == (0, "")
    for words in (
        "weights alone",
        "tic_tac_toe",
        "python -m azcore game=tic_tac_toe",
        "47 of 60 games against random, 5 drawn",
        "GPL-3.0-or-later",
    ):
        assert words in shown
    assert re.search(r"^seed +5 *$", shown, re.MULTILINE)


def test_no_folder_of_this_machine_is_given_away(
    azcore: CommandLine, run: Path, tmp_path: Path
) -> None:
    """A parent is known by its run, step and hash, and starts by the names of their files."""
    starts = tmp_path / "mine.epd"
    starts.write_text(".../.../..X o\n")
    status, _, errors = azcore(
        *(*TINY, f"init={run}", "run_dir=next", "trainer.max_steps=4"),
        f"selfplay.starts=[{starts}]",
    )
    assert (status, errors) == (0, "")
    assert azcore("command=export", "what=checkpoint", "checkpoint=next", "out=small.ckpt")[0] == 0
    own = read_checkpoint(Path("small.ckpt"))[KEY]
    assert own["origin"]["checkpoint"] == "mine/checkpoints/last.ckpt"
    assert own["origin"]["step"] == 8
    assert own["made"]["settings"]["selfplay.starts"] == ["mine.epd"]
    assert str(tmp_path) not in str(own)
    assert str(run) not in str(own)


def test_it_plays_as_before(azcore: CommandLine, run: Path) -> None:
    assert (
        azcore("command=export", "what=checkpoint", f"checkpoint={run}", "out=small.ckpt")[0] == 0
    )
    game = make("tic_tac_toe")
    (before, _), (after, step) = (
        load_network(path, game) for path in (run / "checkpoints/last.ckpt", Path("small.ckpt"))
    )
    assert step == 8
    planes = torch.randint(0, 2, (50, *game.observation_shape), dtype=torch.uint8)
    for network in (before, after):
        network.eval()
    with torch.inference_mode():
        for one, other in zip(before(planes), after(planes), strict=True):
            assert torch.allclose(one, other, atol=0.01)
    assert all(t.dtype != torch.float16 for t in after.state_dict().values())
    players = "players=[small.ckpt,random]"
    assert azcore("command=arena", players, "arena.games=2", "search.num_simulations=4")[0] == 0
    status, _, errors = azcore(*TINY, "init=small.ckpt", "run_dir=next", "trainer.max_steps=4")
    assert (status, errors) == (0, "")


def test_a_run_tells_what_made_it(azcore: CommandLine, run: Path) -> None:
    own = read_checkpoint(run / "checkpoints/last.ckpt")[KEY]
    assert own["made"]["azcore"] == __version__
    assert own["made"]["settings"]["seed"] == 5
    assert own["made"]["settings"]["learner.batch_size"] == 16
    assert not [key for key in own["made"]["settings"] if key.startswith(("trainer", "export"))]
    status, shown, _ = azcore("command=info", f"checkpoint={run}")
    assert status == 0
    for words in ("all that a run needs to resume", "learner.batch_size=16", "games", "hours"):
        assert words in shown


def test_nothing_is_overwritten(azcore: CommandLine, run: Path) -> None:
    Path("there.ckpt").write_text("mine")
    status, _, errors = azcore(
        "command=export", "what=checkpoint", f"checkpoint={run}", "out=there.ckpt"
    )
    assert (status, Path("there.ckpt").read_text()) == (2, "mine")
    assert errors == "azcore: out=there.ckpt already exists; choose another file\n"
    for words, wanted in (
        ("out=there.bin", "out must be a file that ends in .ckpt, got 'there.bin'"),
        (
            "export.results=[nowhere]",
            "export.results must be folders with matches of mine@last, got 'nowhere'",
        ),
    ):
        status, _, errors = azcore(
            "command=export", "what=checkpoint", f"checkpoint={run}", "out=a.ckpt", words
        )
        assert status == 2
        assert wanted in errors
    assert not Path("a.ckpt").exists()


def test_weights_beyond_half_precision_are_refused(run: Path) -> None:
    checkpoint = read_checkpoint(run / "checkpoints/last.ckpt")
    name = next(name for name, tensor in checkpoint["state_dict"].items() if tensor.dim() == 4)
    checkpoint["state_dict"][name][0, 0, 0, 0] = 70_000.0
    with pytest.raises(CheckpointError, match=r"must fit half precision, below 65,504, got 7e\+04"):
        halved(checkpoint)


def test_a_card_from_a_stranger_shows_text_alone(
    azcore: CommandLine, run: Path, tmp_path: Path
) -> None:
    checkpoint = halved(read_checkpoint(run / "checkpoints/last.ckpt"))
    checkpoint[KEY]["card"] = {
        "colour": "\x1b[31mred",
        "fine": "two\nlines, method=[growing_window]",
        "number": 7,
        "\x07": "bell",
        "long": "x" * 30_000,
    }
    checkpoint[KEY]["origin"] = {"how": "\x1b[2J"}
    write_checkpoint(checkpoint, tmp_path / "theirs.ckpt")
    assert card_of(checkpoint[KEY]) == {"fine": "two\nlines, method=[growing_window]"}
    status, shown, _ = azcore("command=info", f"checkpoint={tmp_path}/theirs.ckpt")
    assert status == 0
    assert "two" in shown
    assert "method=[growing_window]" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
    for card in ({"a": "\x1b"}, {"a" * 41: "b"}, {str(i): "" for i in range(41)}):
        with pytest.raises(CheckpointError, match="a card must have at most 40 titles"):
            require_card(card)


def test_networks_that_ship(azcore: CommandLine) -> None:
    """Each loads, says how well it plays, and is small."""
    assert shop.shipped()
    for name, path in shop.shipped().items():
        assert path.stat().st_size < 2e6
        checkpoint = read_checkpoint(path)
        card = card_of(checkpoint[KEY])
        assert {"recipe", "results", "machine", "hours", "games", "licence"} <= card.keys(), name
        identity = checkpoint[KEY]["game"]
        game = make(identity["name"], **identity["settings"])
        load_network(path, game)
        assert shop.pretrained_for({"name": game.name, **game.settings}) == f"pretrained/{name}"
    status, _, errors = azcore("command=info")
    assert (status, "shipped networks: pretrained/" in errors) == (2, True)


def test_pretrained_stands_wherever_a_checkpoint_does(azcore: CommandLine) -> None:
    few = ("arena.games=2", "search.num_simulations=2", "arena.opening_plies=60")
    for players in ("[pretrained,random]", "[pretrained/go9,random]"):
        status, output, errors = azcore("command=arena", f"players={players}", *few)
        assert (status, errors) == (0, "")
        assert "go9" in output
    for words, wanted in (
        (
            ("game=go", "checkpoint=pretrained/go10"),
            "there is no network pretrained/go10; shipped networks: pretrained/",
        ),
        (
            ("game=tic_tac_toe", "checkpoint=pretrained"),
            "no network ships for game=tic_tac_toe",
        ),
        (
            ("game=go", "game.komi=6.5", "checkpoint=pretrained"),
            "pretrained/go5, pretrained/go7, pretrained/go9",
        ),
    ):
        status, _, errors = azcore("command=play", *words)
        assert status == 2
        assert wanted in errors


def test_a_folder_of_ones_own_comes_first(azcore: CommandLine, run: Path) -> None:
    """The word names shipped networks only where there is no such file."""
    Path("pretrained").mkdir()
    Path("pretrained/go9").write_bytes((run / "checkpoints/last.ckpt").read_bytes())
    status, shown, _ = azcore("command=info", "checkpoint=pretrained/go9")
    assert status == 0
    assert "tic_tac_toe" in shown
