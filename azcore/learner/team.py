"""The ranks of a learner on several devices, and their messages.

Rank 0 is the run: it plays, measures and saves. The others only train. Each holds the whole window
and makes the same choice of positions for a step as a single rank would, from the seed and the
step; it then builds its own share of the rows. Lightning averages the gradients, and the mean of
the shares' means is the mean of the batch.

Two groups connect them. The default one carries gradients and figures, on the devices. The other,
of gloo, carries rank 0's messages: games, a checkpoint, the time. The others wait for them while
rank 0 plays, however long that takes, and no GPU waits with them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn

from azcore.storage.game_record import FRAME, GameRecord, parse_frame
from azcore.storage.replay import ReplayBuffer

# Self-play and matches of any length come between two messages of rank 0. Processes and connections
# reveal a lost rank, so no limit is needed, but gloo requires one.
LONGEST = timedelta(days=365)
_MOST_BYTES = 1 << 24  # of games in a message, about


class Team:
    """One rank's view of all ranks; on one device, it sends nothing."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self._control: dist.ProcessGroup | None = None

    @property
    def is_many(self) -> bool:
        return self.size > 1

    def connect(self) -> None:
        """Connect to the others, once torch's default group exists."""
        self._control = dist.new_group(backend="gloo", timeout=LONGEST)

    # -- from rank 0 to all ----------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send bytes to all others; only on rank 0."""
        if self.is_many:
            self._broadcast(torch.tensor([len(data)]))
            self._broadcast(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def receive(self) -> bytes:
        """Wait for bytes from rank 0."""
        length = self._broadcast(torch.zeros(1, dtype=torch.int64))
        data = self._broadcast(torch.empty(int(length), dtype=torch.uint8))
        return data.numpy().tobytes()

    def agree(self, number: float) -> float:
        """Rank 0's number; all ranks call it, and the others wait for rank 0."""
        if not self.is_many:
            return number
        return float(self._broadcast(torch.tensor([number], dtype=torch.float64)))

    def meet(self) -> None:
        """Wait until rank 0 arrives here."""
        self.agree(0.0)

    def _broadcast(self, tensor: Tensor) -> Tensor:
        assert self._control is not None
        if tensor.numel():
            dist.broadcast(tensor, 0, group=self._control)
        return tensor

    # -- games -----------------------------------------------------------------------------------

    def send_games(self, games: Iterable[GameRecord], window_games: int) -> None:
        """Send games that enter the window, oldest first, in the format of the game file."""
        if self.is_many:
            for _ in self.passed_on(games, window_games):
                pass

    def passed_on(
        self, games: Iterable[GameRecord], window_games: int, skip: int = 0
    ) -> Iterator[GameRecord]:
        """Yield these games; once exhausted, it has sent all but the first `skip`."""
        if not self.is_many:
            yield from games
            return
        frames: list[bytes] = []
        size = 0  # bytes
        for number, game in enumerate(games):
            yield game
            if number >= skip:
                frames.append(game.to_bytes())
                size += len(frames[-1])
            if size > _MOST_BYTES:
                self._send_frames(frames, window_games, is_last=False)
                frames, size = [], 0
        self._send_frames(frames, window_games, is_last=True)

    def _send_frames(self, frames: list[bytes], window_games: int, *, is_last: bool) -> None:
        header = {"window_games": window_games, "is_last": is_last}
        self.send(b"\n".join([json.dumps(header).encode(), b"".join(frames)]))

    def receive_games(self, window: ReplayBuffer) -> None:
        """Wait for games from rank 0 and add them to the window.

        Raises:
            GameFileError: the bytes are not games.
        """
        is_last = False
        while not is_last:
            header, _, frames = self.receive().partition(b"\n")
            facts = json.loads(header)
            window.window_games, is_last = facts["window_games"], facts["is_last"]
            window.extend(_records_in(frames))

    # -- among all, on their devices -------------------------------------------------------------

    def means(self, figures: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The mean over all ranks of each figure, with the same names on all."""
        if not self.is_many:
            return dict(figures)
        values = torch.stack([value.detach().float() for value in figures.values()])
        dist.all_reduce(values)
        return dict(zip(figures, values / self.size, strict=True))

    @torch.no_grad()
    def average_statistics(self, network: nn.Module) -> None:
        """Replace the averages of batch norm by their means over all ranks.

        A rank's mean and unbiased variance are those of its share of each batch. Their means over
        the ranks estimate those of the whole batch.
        """
        real = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
        if self.is_many and real:
            values = torch.cat([buffer.flatten() for buffer in real])
            dist.all_reduce(values)
            means = torch.split(values / self.size, [buffer.numel() for buffer in real])
            for buffer, mean in zip(real, means, strict=True):
                buffer.copy_(mean.view_as(buffer))


def _records_in(frames: bytes) -> Iterator[GameRecord]:
    """The games in consecutive frames."""
    at = 0
    while at < len(frames):
        _, length, _ = FRAME.unpack_from(frames, at)
        end = at + FRAME.size + length
        yield parse_frame(frames[at:end], "a game from rank 0")
        at = end


@dataclass(frozen=True)
class Share:
    """Which rows of a step's batch this rank learns from at once.

    A step takes its batch in `parts` consecutive passes, each divided among all ranks. So batch b
    of the loader is pass b modulo `parts` of step b // `parts`.
    """

    rank: int = 0
    ranks: int = 1
    parts: int = 1

    def of(self, batch: int, size: int) -> tuple[int, slice]:
        """The step that a batch belongs to, and its rows among the `size` of that step."""
        step, part = divmod(batch, self.parts)
        rows = self.rows(size)
        begin = (part * self.ranks + self.rank) * rows
        return step, slice(begin, begin + rows)

    def rows(self, size: int) -> int:
        """How many rows each batch has, of `size` in a step."""
        return size // (self.ranks * self.parts)


ALONE = Team()
