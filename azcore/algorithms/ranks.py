"""The processes of a learner on several devices: how they start, connect and end.

    trainer.devices=4                        this process is rank 0 and starts ranks 1 to 3
    trainer.devices=4 trainer.num_nodes=2    the same command on each node; the first process of a
                                             node starts the node's others
    torchrun, or Slurm's srun                starts them all, one command per rank

Rank 0 is the run. The others have no run directory, terminal or self-play: see `follower.py`.
If a rank is lost, the run ends with a one-sentence error, and the end of the run ends all ranks.
"""

import contextlib
import logging
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import Logger
from lightning.pytorch.plugins.io import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy

from azcore.algorithms.place import Place
from azcore.errors import AzcoreError, LostProcessError, SettingError
from azcore.learner.module import LearnerModule
from azcore.learner.settings import LearnerSettings
from azcore.learner.team import Team
from azcore.learner.trainer_settings import TrainerSettings
from azcore.selfplay.processes import begin_of, end_with_its_programs
from azcore.selfplay.sizes import available_cores
from azcore.storage.checkpoint import short_reason

# Ranks of other nodes may arrive while rank 0 still compiles and measures. Afterwards no rank waits
# in the default group longer than another takes for a step or a first compilation.
_ARRIVAL = timedelta(hours=1)
_NUDGE = 5.0  # seconds after the loss of a rank until it interrupts rank 0, if still unaware
_PATIENCE = 60.0  # seconds from then on until that process ends, whatever it waits for
_FAREWELL = 30.0  # seconds for the others to end after the last step


class Ranks:
    """Starts ranks, and connects this process to all of them."""

    def __init__(self, place: Place, device_type: str) -> None:
        self.place, self._device_type = place, device_type
        self.team = Team(place.rank, place.size)
        self.lost: AzcoreError | None = None  # the loss of a rank
        self._children: list[_Child] = []
        self._is_over, self._is_nudged = threading.Event(), False
        self._main = threading.current_thread()

    def require_whole(self) -> None:
        """Raise the error of a lost rank, if any."""
        if self.lost is not None:
            raise self.lost

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Connect all ranks during the block; afterwards, the ranks started here have ended.

        Raises:
            LostProcessError: a rank is lost.
            AzcoreError: a rank cannot continue.
        """
        if not self.team.is_many:
            yield
            return
        place, self._main = self.place, threading.current_thread()
        threads = torch.get_num_threads()
        folder = Path(tempfile.mkdtemp(prefix="azcore-ranks-"))
        if not place.meeting:
            place = replace(place, meeting=f"file://{folder}/meeting")
        try:
            with self._raising_lost_ranks():
                if not place.is_begun:
                    self._begin_others(place)
                connect(self.team, place, self._device_type)
                yield
            self._is_over.set()
            for child in self._children:
                child.wait(_FAREWELL)
        finally:
            self._is_over.set()
            for child in self._children:
                child.end()
            if dist.is_initialized():
                dist.destroy_process_group()
            shutil.rmtree(folder, ignore_errors=True)
            torch.set_num_threads(threads)

    def _begin_others(self, place: Place) -> None:
        first = place.rank - place.local
        for local in range(1, place.devices):
            there = replace(place, rank=first + local, local=local)
            self._children.append(_Child(there, self._device_type, self._has_lost))
        for child in self._children:
            while not child.is_ready.wait(0.1):
                self.require_whole()

    @contextlib.contextmanager
    def _raising_lost_ranks(self) -> Iterator[None]:
        """Turn every effect of a lost rank on this process into one error."""
        try:
            yield
        except AzcoreError:
            raise
        except BaseException as error:
            if is_of_connection(error):  # the reason becomes known a moment later
                end = time.monotonic() + _NUDGE
                while self._children and self.lost is None and time.monotonic() < end:
                    time.sleep(0.05)
                self._is_over.set()
                if self.lost is None:
                    raise LostProcessError(
                        f"a rank of the learner is lost; the connection to it failed: "
                        f"{short_reason(error)}"
                    ) from error
            elif not self._is_nudged:
                raise
            self._is_over.set()
            assert self.lost is not None
            raise self.lost from error

    def _has_lost(self, error: AzcoreError) -> None:
        """Handle the early end of a rank; called on a thread."""
        if self._is_over.is_set() or self.lost is not None:
            return
        self.lost = error
        if self._is_over.wait(_NUDGE):
            return
        is_main = self._main is threading.main_thread()
        if is_main and callable(signal.getsignal(signal.SIGTERM)):  # rank 0 plays, or waits forever
            self._is_nudged = True
            signal.pthread_kill(self._main.ident or 0, signal.SIGTERM)
        if not self._is_over.wait(_PATIENCE):
            with contextlib.suppress(OSError):
                os.write(2, f"azcore: {error}\n".encode())
            for child in self._children:
                child.end()
            os._exit(2)


def connect(team: Team, place: Place, device_type: str) -> None:
    """Connect to the other ranks.

    Ranks that azcore started on one node meet through a file and use the loopback interface. Ranks
    of torchrun or Slurm meet at the address from those programs, which others may reach.
    """
    if place.is_on_one_node:
        interface = "lo0" if sys.platform == "darwin" else "lo"
        for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
            if place.meeting.startswith("file:"):
                os.environ[name] = interface
            else:
                os.environ.setdefault(name, interface)
    if device_type == "cuda":
        torch.cuda.set_device(place.local)
    dist.init_process_group(
        "nccl" if device_type == "cuda" else "gloo",
        init_method=place.meeting,
        rank=place.rank,
        world_size=place.size,
        timeout=_ARRIVAL,
    )
    team.connect()


def is_of_connection(error: BaseException) -> bool:
    """Whether an error means that torch lost another rank, which gloo raises as RuntimeError."""
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError)
        and any(word in str(error) for word in ("gloo", "Connection", "NCCL"))
    )


class _Child:
    """A rank started here, and a thread that calls `has_lost` if the rank ends too early."""

    def __init__(
        self, place: Place, device_type: str, has_lost: Callable[[AzcoreError], None]
    ) -> None:
        self.is_ready = threading.Event()  # it has started and is about to connect to the others
        self._place, self._has_lost = place, has_lost
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the process)
        environment = dict(os.environ)
        if device_type == "cpu":
            environment["OMP_NUM_THREADS"] = str(threads_of(place))
        ours, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-c", begin_of("azcore.algorithms.follower"), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[its.fileno()],
                env=environment,
                process_group=0,  # Ctrl-C is for rank 0
            )
        self._connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # the rank is lost
            self._connection.send((place, device_type))
        self._thread = threading.Thread(target=self._hear, name=f"rank {place.rank}", daemon=True)
        self._thread.start()

    def _hear(self) -> None:
        """Read its messages: None, it is ready; an error; `DONE`; the end of the connection."""
        try:
            while True:
                message = pickle.loads(self._connection.recv_bytes())
                if message == DONE:
                    return
                if message is not None:
                    self._has_lost(message)
                self.is_ready.set()
        except (EOFError, OSError):
            self._has_lost(
                LostProcessError(f"rank {self._place.rank} of the learner {self._end()}")
            )

    def _end(self) -> str:
        """How it ended, with its last output line."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_NUDGE)
        status = self._process.poll()
        if status is None:
            return "does not respond"
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return how + (f": {last:.300}" if last and status > 0 else "")

    def wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def end(self) -> None:
        """Kill it if it has not ended."""
        end_with_its_programs(self._process)
        if self._thread is not threading.current_thread():
            self._thread.join()  # no message left
            self._connection.close()
            self._errors.close()


DONE = "done"  # the last message of a rank that trained to the end


def threads_of(place: Place) -> int:
    """Threads of a rank that trains on a CPU."""
    return max(1, available_cores() // place.devices)


# -- Lightning -----------------------------------------------------------------------------------


def quiet_lightning() -> None:
    """Keep Lightning's notes on hardware and products off the terminal."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    # Lightning 2.6 uses torch's tree functions in a way that torch 2.13 deprecates.
    warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated")
    # One process plays the games; data-loader workers would each need a copy of the window.
    warnings.filterwarnings("ignore", message=".*does not have many workers")
    # For example the timer, in a run resumed without trainer.max_time.
    warnings.filterwarnings(
        "ignore", message=".*callbacks used to create the checkpoint need to be"
    )
    # A rank's logs are already means over all ranks, or rank 0's alone.
    warnings.filterwarnings("ignore", message=".*sync_dist=True")


def lightning_trainer(
    settings: TrainerSettings,
    learner: LearnerSettings,
    place: Place,
    *,
    callbacks: list[Callback],
    checkpoints: CheckpointIO,
    logger: Logger | bool,
) -> Trainer:
    """The Trainer of a rank.

    Args:
        callbacks: the callbacks in calling order.
        logger: False on all ranks but rank 0.

    Raises:
        SettingError: Lightning refuses the settings.
    """
    options: dict[str, Any] = asdict(settings)
    del options["max_time"]  # azcore has its own timer
    # Lightning warns of an interval longer than an epoch.
    assert learner.steps_per_generation is not None
    options["log_every_n_steps"] = min(settings.log_every_n_steps, learner.steps_per_generation)
    options["strategy"] = "auto" if place.size == 1 else _Ranked(place)
    try:
        return Trainer(
            **options,
            max_epochs=-1,
            callbacks=callbacks,
            logger=logger,
            plugins=[checkpoints],
            enable_checkpointing=place.rank == 0,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            limit_val_batches=0,
            use_distributed_sampler=False,
        )
    except (MisconfigurationException, ValueError, TypeError) as error:
        raise SettingError(f"trainer: Lightning refuses these settings: {error}") from error


class _Ranked(DDPStrategy):
    """DDP among ranks that are already connected.

    DDP does not send batch norm's averages: `SynchronisedNorm` and `Together` handle them.
    """

    def __init__(self, place: Place) -> None:
        super().__init__(cluster_environment=_Environment(place), forward_sync_buffers=False)

    def _configure_launcher(self) -> None:
        self._launcher = None


class _Environment(LightningEnvironment):
    """Gives Lightning the place of this process, so that it does not connect the ranks itself."""

    creates_processes_externally = True

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def world_size(self) -> int:
        return self._place.size

    def global_rank(self) -> int:
        return self._place.rank

    def local_rank(self) -> int:
        return self._place.local

    def node_rank(self) -> int:
        return self._place.node

    def teardown(self) -> None:
        pass  # the launcher's variables stay


class Together(Callback):
    """The part of a step that all ranks share, before other callbacks.

    Args:
        time_share: on rank 0, the share of the run's time that has passed.
        threads: the number of threads of a rank that learns on a CPU.
    """

    def __init__(self, team: Team, time_share: Callable[[], float], threads: int) -> None:
        self._team, self._measured, self._threads = team, time_share, threads
        self._share = 0.0
        self._on_sigterm: Any = signal.SIG_DFL

    def time_share(self) -> float:
        """The share on which all ranks agreed for this step; it sets the learning rate."""
        return self._share

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._on_sigterm = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # Lightning's handler would signal all ranks, which may wait for something else.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_sigterm)
        self.on_train_epoch_start(trainer, pl_module)  # not in the middle of a step
        self._share = self._team.agree(self._measured())

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if pl_module.device.type == "cpu":  # the ranks of a machine share its cores
            torch.set_num_threads(self._threads)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self._share = self._team.agree(self._measured())

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, LearnerModule)
        if not pl_module.settings.sync_batch_norm:
            self._team.average_statistics(pl_module)


class Meeting(Callback):
    """Makes the ranks wait for rank 0's first ratings; after other callbacks."""

    def __init__(self, team: Team) -> None:
        self._team = team

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._team.meet()
