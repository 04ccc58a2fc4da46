"""Ranks 1 and up of a learner on several devices: they only train.

Rank 0 sends them settings, games and checkpoints. Their Trainer is that of rank 0 without
everything that writes, measures or plays.
"""

import contextlib
import json
import os
import pickle
import tempfile
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins.io import TorchCheckpointIO

from azcore.algorithms.place import Place
from azcore.algorithms.ranks import (
    DONE,
    Meeting,
    Ranks,
    Together,
    connect,
    is_of_connection,
    lightning_trainer,
    quiet_lightning,
    threads_of,
)
from azcore.assembly.parts import RunSettings, settings_from
from azcore.errors import AzcoreError
from azcore.learner.data import ReceivedGames
from azcore.learner.module import LearnerModule
from azcore.learner.norm import synchronised
from azcore.learner.team import Team
from azcore.networks import build_network
from azcore.storage.checkpoint import read_checkpoint

_AFTER = 3.0  # seconds by which a rank that lost another reports later than that one


def tell_followers(team: Team, settings: RunSettings, *, resumes: bool) -> None:
    """The first message of rank 0: the settings of the run, and whether a checkpoint follows."""
    if team.is_many:
        steps = settings.learner.steps_per_generation  # open in the run's configuration, perhaps
        learner = {**settings.config["learner"], "steps_per_generation": steps}
        config = {**settings.config, "learner": learner}
        team.send(json.dumps({"config": config, "resumes": resumes}).encode())


def follow(team: Team, place: Place) -> None:
    """Train to the end of the run, after the ranks have connected.

    Raises:
        AzcoreError: a part of the run is missing here.
    """
    quiet_lightning()
    message = json.loads(team.receive())
    settings = settings_from(_without_search(message["config"]), RunSettings)
    trainer, learner = settings.trainer, settings.learner
    network = build_network(settings.game, settings.network, settings.seed)
    together = Together(team, lambda: 0.0, threads_of(place))
    module = settings.plugins.subclass("learner", LearnerModule)(
        network=synchronised(network) if learner.sync_batch_norm else network,
        settings=learner,
        max_steps=trainer.max_steps,
        description={},
        time_share=together.time_share,
        team=team,
    )
    assert learner.steps_per_generation is not None  # rank 0 has fitted it
    data = ReceivedGames(
        team=team,
        buffer=settings.window(Path(tempfile.gettempdir())),
        batch_size=learner.batch_size,
        steps_per_generation=learner.steps_per_generation,
        parts=trainer.accumulate_grad_batches,
        seed=settings.seed,
    )
    lightning_trainer(
        trainer,
        learner,
        place,
        callbacks=[together, Meeting(team), _Following(team, data)],
        checkpoints=_Received(team, data),
        logger=False,
    ).fit(
        module,
        datamodule=data,
        ckpt_path="rank 0's" if message["resumes"] else None,
        weights_only=True,
    )


def _without_search(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for a rank, which never searches."""
    return {
        **config,
        "device": "cpu",
        "evaluator": {**config["evaluator"], "backend": "auto", "precision": "auto"},
    }


class _Following(Callback):
    """Waits for rank 0 where `Loop.generation` makes games and saves the run."""

    def __init__(self, team: Team, data: ReceivedGames) -> None:
        self._team, self._data = team, data

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._team.agree(0.0):  # the run's time is up
            trainer.should_stop = True

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._data.receive_games()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._team.agree(0.0):  # the generation's time is up
            trainer.should_stop = True
        self._team.meet()
        trainer.strategy.barrier()


class _Received(TorchCheckpointIO):
    """The checkpoint that rank 0 read, and its window."""

    def __init__(self, team: Team, data: ReceivedGames) -> None:
        self._team, self._data = team, data

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        with tempfile.NamedTemporaryFile(suffix=".ckpt") as file:
            file.write(self._team.receive())
            file.flush()
            checkpoint = read_checkpoint(Path(file.name))
        self._data.receive_games()
        return checkpoint


def follow_here(place: Place, device_type: str) -> int:
    """Run a rank that a person, torchrun or Slurm started; it starts the others on its node.

    Raises:
        AzcoreError: a rank is lost, or a part of the run is missing here.
    """
    ranks = Ranks(place, device_type)
    with ranks.gathered():
        follow(ranks.team, place)
    return 0


def serve(descriptor: int) -> None:
    """The main function of a process of `ranks.py`; `descriptor` connects it to its parent."""
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):  # the parent process has ended
        place, device_type = connection.recv()
        connection.send(None)
        team = Team(place.rank, place.size)
        try:
            connect(team, place, device_type)
            follow(team, place)
        except BaseException as error:
            if is_of_connection(error):
                time.sleep(_AFTER)
            connection.send_bytes(_words(error, place.rank))
            raise
        connection.send(DONE)
        os._exit(0)  # without waiting for threads of torch


def _words(error: BaseException, rank: int) -> bytes:
    """An error in the form in which rank 0 raises it."""
    if not isinstance(error, AzcoreError):
        found = traceback.format_exception_only(error)
        error = AzcoreError(f"rank {rank} of the learner has failed: {' '.join(found)}")
    try:
        pickle.loads(message := pickle.dumps(error))
    except Exception:
        message = pickle.dumps(AzcoreError(str(error)))
    return message
