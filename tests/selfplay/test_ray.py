"""Self-play in a Ray cluster of two nodes on this machine: the games of threads, whatever dies."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from azcore.arena.spread import Contender, SpreadMatch, play_spread
from azcore.commands.train import train
from azcore.errors import LostProcessError, SettingError
from azcore.selfplay import ray_actors
from azcore.selfplay.jobs import JobContext, JobSlots, ThreadSlots
from azcore.selfplay.ray_actors import RayChannel, ServingActor
from azcore.selfplay.ray_cluster import ENVIRONMENT, LOOPBACK, HeadNode, RayCluster, signals_kept
from azcore.selfplay.remote import RemotePool
from conftest import TINY, compose
from process_kit import (
    GAME,
    HashWeights,
    SmallRecipe,
    gone,
    history,
    small_actor,
    small_ray_pool,
    small_settings,
    unpacked,
)
from run_kit import fingerprint
from search_kit import search_settings

A_NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
PATIENCE = 120.0  # seconds until something must have happened on a busy machine


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without CPUs, so that self-play is on the two other nodes, with one each."""
    pytest.importorskip("ray", reason="azcore[ray] is not installed")
    os.environ.update(ENVIRONMENT | LOOPBACK)
    import ray
    from ray.cluster_utils import Cluster

    head = {**A_NODE, "num_cpus": 0, "include_dashboard": False}
    with signals_kept():
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(2):
                cluster.add_node(**A_NODE)
            with contextlib.closing(RayCluster(cluster.address, 1, PATIENCE)):
                yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def test_a_signal_that_rays_handler_takes_interrupts_as_ours_does() -> None:
    """Else a SIGTERM while Ray begins ends azcore with Ray's status, 15 or 1, not with 130."""
    ours = signal.getsignal(signal.SIGTERM)

    def begin() -> None:
        with signals_kept():
            signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert signal.getsignal(signal.SIGTERM) is ours


def channels(pool: RemotePool) -> list[RayChannel]:
    found = [member._channel for member in pool._members]
    return [channel for channel in found if isinstance(channel, RayChannel)]


def play_small(slots: JobSlots) -> SpreadMatch:
    first, second = (
        Contender(
            name=name, search=search_settings(num_simulations=20), weights=b"hashes", version=at
        )
        for at, name in enumerate(("first", "second"))
    )
    wanted: dict[str, Any] = {"num_games": 200, "opening_plies": 2, "seed": 1}
    return play_spread(slots, GAME, first, second, **wanted)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_comes_and_goes_costs_no_game(cluster: Any) -> None:
    """An actor is killed, then a node; with another node, the guest goes home."""
    import ray

    settings = small_settings(3)
    threads = small_actor(settings)
    wanted = history(threads)
    said: list[str] = []
    matches: list[SpreadMatch] = []
    pool = small_ray_pool(settings, 2, address=cluster.address, say=said.append)
    with contextlib.closing(pool):
        until(lambda: all(home.is_usable for home in pool._slots.launcher._actors._homes))
        assert history(pool) == wanted
        counted, known = pool.statistics, threads.statistics
        assert (counted.evaluations, counted.remembered) == (known.evaluations, known.remembered)
        assert sum(member.evaluations for member in counted.members) == counted.evaluations
        assert pool.bytes_needed(9) == threads.bytes_needed(9)
        assert not said

        pool.load_state_dict(small_actor(settings).state_dict())
        pool._slots.launcher._actors.wait = 1.0
        match = threading.Thread(target=lambda: matches.append(play_small(pool.job_slots())))
        match.start()

        def harm(count: int) -> None:
            if count == 1:  # in the first round
                ray.kill(channels(pool)[0]._actor.handle)
            if count == 3:
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

        assert history(pool, harm) == wanted
        (homeless,) = [channel._number for channel in channels(pool) if not channel._is_home]
        assert any("its games move to another actor" in sentence for sentence in said)
        assert any(sentence.endswith("restarting it") for sentence in said)
        assert sum(member.restarted for member in pool.statistics.members) >= 1
        match.join(PATIENCE)
        here = ThreadSlots(JobContext(GAME, unpacked, 3), 3)
        assert [match.result for match in matches] == [play_small(here).result]

        cluster.add_node(**A_NODE)
        until(lambda: pool._slots.launcher._actors.home(homeless).is_usable)
        pool.set_weights(HashWeights(0))
        assert all(channel._is_home for channel in channels(pool))


def test_a_lost_head_ends_the_play_with_a_sentence(cluster: Any) -> None:
    pool = small_ray_pool(small_settings(2), 2, address=cluster.address)
    with contextlib.closing(pool):
        pool.set_weights(HashWeights(0))
        gone = LostProcessError("the head is gone")
        threading.Timer(0.5, pool._slots.launcher._actors._lose, [gone]).start()
        with pytest.raises(LostProcessError, match="the head is gone"):
            pool.play_while(lambda made: True)


def test_a_head_may_be_silent_for_a_while() -> None:
    """Another listens at its address again, in time; then none does."""
    said: list[str] = []
    lost: list[LostProcessError] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        head = HeadNode(f"127.0.0.1:{port}", patience=PATIENCE)
        head.watch(said.append, lost.append, every=0.05)
        time.sleep(0.3)
        assert not said
    until(lambda: len(said) == 1)
    assert said[0].startswith(f"the head of the Ray cluster, 127.0.0.1:{port}, does not respond")
    with socket.create_server(("127.0.0.1", port)):
        head.require()
    head.patience = 0.2
    with pytest.raises(LostProcessError, match=rf"127\.0\.0\.1:{port}, is lost.*resume=latest"):
        head.require()
    assert head.is_lost
    until(lambda: bool(lost))


def test_a_head_that_is_left_is_not_missed() -> None:
    head = HeadNode("127.0.0.1:1", patience=0.0)
    head.leave()
    head.require()
    assert not head.is_lost
    HeadNode(None, 0.0).require()  # through Ray's client


def test_what_no_node_has(cluster: Any) -> None:
    wanted = "whose largest has 1 CPUs and 0 GPUs, got 64 and 0"
    with pytest.raises(SettingError, match=wanted):
        small_ray_pool(small_settings(2), 2, address=cluster.address, num_cpus=64, wait=1)


DRIVER = """
import os, sys, ray
from process_kit import HashWeights, small_ray_pool, small_settings
pool = small_ray_pool(small_settings(2), 2, address=sys.argv[1])
pool.set_weights(HashWeights(0))
handles = [member._channel._actor.handle for member in pool._members]
pids = [handle.__ray_call__.remote(lambda self: os.getpid()) for handle in handles]
print(*ray.get(pids), flush=True)
pool.play_while(lambda made: True)
"""


def test_no_actor_outlives_a_killed_driver(cluster: Any) -> None:
    here = Path(__file__).parent
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, cluster.address],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{here}:{here.parent}"},
    ) as process:
        assert process.stdout is not None
        actors = [int(word) for word in process.stdout.readline().split()]
        assert len(actors) == 2
        assert not gone(actors, 0)
        process.kill()
    assert gone(actors, PATIENCE)


def test_what_a_ray_of_its_own_writes_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be open to all: the token in the home, the sockets and logs in `/tmp/ray`."""
    begun: dict[str, Any] = {}

    def init(**options: Any) -> None:
        begun.update(options, token=os.environ["RAY_AUTH_TOKEN"])
        (Path(options["_temp_dir"]) / "session").mkdir(mode=0o777)

    fake: Any = types.ModuleType("ray")
    fake.init, fake.shutdown, fake.is_initialized = init, lambda: None, lambda: False
    fake.get_runtime_context = lambda: types.SimpleNamespace(gcs_address="127.0.0.1:1")
    fake._private = types.SimpleNamespace(worker=types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")  # so that it is as before afterwards
        monkeypatch.delenv(name)
    umask = os.umask(0o022)
    try:
        cluster = RayCluster(None, 1, 1.0)
        folder = Path(begun["_temp_dir"])
        assert [path.stat().st_mode & 0o077 for path in (folder, folder / "session")] == [0, 0]
        assert len(begun["token"]) == 64
        cluster.close()
        assert not folder.exists()
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(umask)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path))  # a person's own choice stays
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setattr(fake, "init", lambda **_: None)
    RayCluster(None, 1, 1.0).close()
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_a_run_is_the_same_run(tmp_path: Path) -> None:
    """By a Ray of its own, which is gone afterwards."""
    pytest.importorskip("ray", reason="azcore[ray] is not installed")
    words = [*TINY, "selfplay.workers=2", "trainer.max_steps=8"]
    assert train(compose(*words, f"run_dir={tmp_path / 'threads'}")) == 0
    command = [sys.executable, "-m", "azcore", *words, f"run_dir={tmp_path / 'actors'}"]
    command += ["backend=ray", "backend.actors=2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert fingerprint(tmp_path / "actors") == fingerprint(tmp_path / "threads")
    assert "2 threads in 2 actors" in done.stdout
    assert "2 members of self-play: " in done.stdout
    assert not done.stderr


def test_no_cluster_answers() -> None:
    pytest.importorskip("ray", reason="azcore[ray] is not installed")
    asked = "from azcore.selfplay.ray_cluster import RayCluster; RayCluster('127.0.0.1:1', 1, 2)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    sentence = "backend.address=127.0.0.1:1: no Ray cluster answered within 2 s"
    assert sentence in done.stderr


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingError, match=r"pip install 'azcore\[ray\]'"):
        RayCluster(None, 1, 1)


def test_calls_have_their_turns() -> None:
    """However they arrive; and another version of azcore answers none."""

    async def asked(version: str) -> list[Any]:
        actor = ServingActor(version)
        settings = small_settings(2)
        calls: list[tuple[int, str, tuple[Any, ...]]] = [
            (0, "open", (SmallRecipe(settings), [0, 1], 0)),
            (1, "weights", (b"hashes", 3, None)),
            (2, "round", (1,)),
            (3, "states", ()),
        ]
        asking = [actor.ask(7, turn, method, *values) for turn, method, values in reversed(calls)]
        answers = await asyncio.gather(*asking)
        await actor.ask(7, 4, ray_actors.SHUT)
        return answers[::-1]

    answers = asyncio.run(asked(ray_actors.__version__))
    assert [is_well for is_well, _ in answers] == [True] * 4
    played = pickle.loads(answers[3][1])[1]["games"][0]["actions"]
    assert len(played) > 0
    is_well, error = asyncio.run(asked("0.0.0"))[3]
    assert not is_well
    assert "azcore must be 0.0.0 on every node" in str(error)
