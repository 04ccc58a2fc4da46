"""The example of a network and an evaluator in a package of their own, and its page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from azcore.storage.targets import TARGETS
from fresh_environment import FreshEnvironment

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/plugins/squeeze_excitation"
SMALL = (
    "game=go game.board_size=5 network=se_res network.blocks=1 network.channels=4 "
    "search.num_simulations=8 selfplay.num_games=4 learner.batch_size=16 "
    "learner.steps_per_generation=1 arena.games=2 arena.num_simulations=4"
)
BLOCK = re.compile(r"^```(?:python|yaml|toml) (?P<file>\S+)\n(?P<text>.*?)^```$", re.M | re.S)


def test_the_page_shows_what_the_example_holds() -> None:
    blocks = list(BLOCK.finditer((ROOT / "docs/new-network.md").read_text()))
    assert len(blocks) == 6
    for block in blocks:
        assert block["text"] in (EXAMPLE / block["file"]).read_text(), block["text"]


def test_the_page_lists_every_auxiliary_target() -> None:
    page = (ROOT / "docs/new-network.md").read_text()
    table = page.partition("| Target |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == TARGETS


def test_the_example_trains_resumes_and_plays(tmp_path: Path) -> None:
    fresh = FreshEnvironment.make(tmp_path / "environment")
    source = tmp_path / "source"
    shutil.copytree(EXAMPLE, source)  # builds leave folders behind
    fresh.succeed(f"pip install {source}", tmp_path)
    fresh.succeed("python -m pytest -q", source)
    train = f"python -m azcore {SMALL} run_dir=run evaluator.backend="
    arena = "python -m azcore command=arena players=[run,random] arena.games=2"
    *ended, done = fresh.run_together(
        [
            f"{train}auto trainer.max_steps=1",
            f"{train}average trainer.max_steps=2 resume=run",
            f"{arena} search.num_simulations=4 run_dir=arena",
            f"python -m azcore {SMALL} network.reduction=99",
        ],
        tmp_path,
    )
    assert [each.stderr for each in ended if each.returncode] == []
    assert "network se_res 1x4, " in ended[0].stdout
    assert "step 2" in ended[1].stdout
    assert "run" in ended[2].stdout
    assert (done.returncode, done.stderr) == (
        2,
        "azcore: network.reduction must be 1 to network.channels=4, got 99\n",
    )
    fresh.succeed("rm -r environment/lib/python*/site-packages/squeeze_excitation*", tmp_path)
    done = fresh.run(arena, tmp_path)
    assert done.returncode == 2
    assert "network.name must be one of dual_conv, " in done.stderr
    assert "got 'se_res'" in done.stderr
