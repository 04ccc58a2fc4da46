"""The wheel is whole: without a checkout azcore predicts, serves its page and writes a package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import azcore
from fresh_environment import FreshEnvironment

ROOT = Path(__file__).parents[1]
PREDICT = """
import azcore, pathlib, sys
player = azcore.load("pretrained/go9")
said = player.predict(player.game.initial_state())
home = pathlib.Path(azcore.__file__)
print(home.is_relative_to(sys.prefix), azcore.__version__, said.policy.shape)
sys.argv = ["azcore", "command=info", "checkpoint=pretrained"]
azcore.cli.main()
"""
SERVE = """
import re, subprocess, sys, urllib.request
command = [sys.executable, "-m", "azcore", "command=web", "web.port=0", "web.open=false"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    address = re.search(r"http\\S+/", server.stdout.readline())[0]
    page = urllib.request.urlopen(address).read().decode()
    for file in re.findall(r"/(static/[\\w.]+)", page):
        print(file, urllib.request.urlopen(address + file).status)
    german = urllib.request.urlopen(address + "texts/de.json").read().decode()
    print("German", "Take back" in german and "two passes" in german)
    server.terminate()
"""


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == azcore.__version__
    changes = (ROOT / "CHANGELOG.md").read_text()
    cut = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", changes, re.MULTILINE)
    assert cut[0] == azcore.__version__
    assert changes.index("## [Unreleased]\n") < changes.index(f"## [{cut[0]}]")


def test_the_wheel_works_without_a_checkout(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for folder in ("azcore", "games", "conf"):
        clutter = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, source / folder, ignore=clutter)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp_path, source]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("azcore-*.whl")
    shutil.rmtree(source)
    fresh = FreshEnvironment.make(tmp_path / "environment")
    (packages,) = (tmp_path / "environment" / "lib").glob("python*/site-packages")
    shutil.unpack_archive(wheel, packages, "zip")
    empty = tmp_path / "empty"
    empty.mkdir()
    for name, script in (("predict", PREDICT), ("serve", SERVE)):
        (tmp_path / f"{name}.py").write_text(script)
    said, _, info = fresh.succeed("python ../predict.py", empty).partition("\n")
    assert said == f"True {azcore.__version__} (82,)"
    assert "pooled_res" in info
    served = fresh.succeed("python ../serve.py", empty).split()
    wanted = ["static/page.css", "static/language.js", "static/main.js"]
    assert served == [word for path in wanted for word in (path, "200")] + ["German", "True"]
    written = fresh.succeed("python -m azcore command=new name=my_game; ls my_game", empty)
    assert "pyproject.toml" in written


def test_a_script_beside_a_clone_finds_the_package(tmp_path: Path) -> None:
    """The folder of the clone has the package's name, and Python looks beside the script first."""
    (tmp_path / "azcore").symlink_to(ROOT)
    script = tmp_path / "script.py"
    script.write_text(
        "import azcore, azcore.games.go.game\n"
        "print(azcore.__version__, azcore.make('tic_tac_toe').name, azcore.__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    inside = tmp_path / "azcore" / "azcore" / "__init__.py"
    assert done.stdout.split() == [azcore.__version__, "tic_tac_toe", str(inside)]
