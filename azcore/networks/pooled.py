"""A residual tower in which some blocks see the whole board, and heads for auxiliary targets.

Global pooling as in Wu 2019 (arXiv:1902.10565), section 3.3: a 3x3 convolution sees a few cells,
but a ko, a ladder or the state of the endgame depends on far ones. The heads pool as well, so that
each is far smaller than one with a linear layer over all cells, and has several channels: the
papers' value head begins with a single plane, and a single plane can die behind its ReLU.

Letters: N batch, K channels, P pooled channels, H rows, W columns, A actions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from azcore.game import Game
from azcore.networks.contract import AuxiliaryNetwork, NetworkSettings
from azcore.networks.heads import ConvBlock, LinearPolicyHead, PlaneMajor
from azcore.networks.towers import PlaneScale, ResidualBlock
from azcore.settings import require
from azcore.storage.targets import HORIZONS, TARGETS, stated

VALUES = ("scalar", "wdl")
_PLIES = 20.0  # one unit of the head for `plies_left` (lc0)
POLICIES = ("policy", "reply", "soft_policy")  # outputs with a logit for each action


@dataclass(frozen=True, kw_only=True)
class PooledRes(NetworkSettings):
    """The settings of `network=pooled_res`."""

    pooling_every: int  # block that sees the whole board; 0: none
    head_channels: int  # of policy and value head
    value: str  # "scalar", or "wdl": probabilities of win, draw and loss
    auxiliary: dict[str, bool]  # whether to predict a target as well, where the game states it

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.pooling_every >= 0, "network.pooling_every", "0 or more", self.pooling_every)
        require(
            self.pooling_every == 0 or self.channels >= 4,
            "network.channels",
            "4 or more with network.pooling_every",
            self.channels,
        )
        require(self.head_channels >= 1, "network.head_channels", "1 or more", self.head_channels)
        require(self.value in VALUES, "network.value", f"one of {', '.join(VALUES)}", self.value)
        unknown = sorted(set(self.auxiliary) - set(TARGETS))
        names = f"of {', '.join(TARGETS)}"
        require(not unknown, "network.auxiliary", names, ", ".join(unknown))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(name for name in TARGETS if self.auxiliary.get(name))

    def build(self, game: Game) -> nn.Module:
        return PooledNetwork(game, self)


class GlobalPool(nn.Module):
    """Mean and maximum of each channel over the board: [N, P, H, W] -> [N, 2 P]."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)


class PooledBlock(nn.Module):
    """A residual block whose first layer adds what is elsewhere: [N, K, H, W] -> the same.

    A quarter of the first layer's channels are pooled; a linear layer turns them into a bias for
    each of the others.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        pooled = max(1, channels // 4)
        kept = channels - pooled
        self.local = nn.Sequential(
            nn.Conv2d(channels, kept, 3, padding=1, bias=False), nn.BatchNorm2d(kept)
        )
        self.everywhere = nn.Sequential(
            ConvBlock(channels, pooled, 3), GlobalPool(), nn.Linear(2 * pooled, kept)
        )
        self.second = nn.Sequential(
            nn.Conv2d(kept, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        first = torch.relu(self.local(x) + self.everywhere(x)[:, :, None, None])
        return torch.relu(self.second(first) + x)


class PooledPolicyHead(nn.Module):
    """Logits of several policies from the same features: [N, K, H, W] -> [N, A] each.

    A 1x1 convolution gives the actions of each cell, so that what is learned in one place holds in
    all; actions that belong to no cell, such as a pass, depend on the pooled features.
    """

    def __init__(self, channels: int, hidden: int, game: Game, policies: Iterable[str]) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        assert game.action_planes is not None
        planes, others = game.action_planes, game.num_actions
        others -= planes * height * width
        self.local = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden)
        )
        self.pooled = nn.Sequential(ConvBlock(channels, hidden, 1), GlobalPool())
        self.bias = nn.Linear(2 * hidden, hidden)
        self.cells = nn.ModuleDict(
            {name: nn.Sequential(nn.Conv2d(hidden, planes, 1), PlaneMajor()) for name in policies}
        )
        self.others = nn.ModuleDict(
            {name: nn.Linear(2 * hidden, others) for name in policies if others > 0}
        )

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        pooled = self.pooled(features)
        local = torch.relu(self.local(features) + self.bias(pooled)[:, :, None, None])
        logits = {name: cells(local) for name, cells in self.cells.items()}
        for name, others in self.others.items():
            logits[name] = torch.cat([logits[name], others(pooled)], 1)
        return logits

    def keep_only(self, policy: str) -> None:
        """Remove the layers of all other policies."""
        for layers in (self.cells, self.others):
            for name in [name for name in layers if name != policy]:
                del layers[name]


class LinearPolicyHeads(nn.Module):
    """`PooledPolicyHead` for games whose actions belong to no cells: a linear head for each."""

    def __init__(self, channels: int, game: Game, policies: Iterable[str]) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        self.heads = nn.ModuleDict(
            {name: LinearPolicyHead(channels, height, width, game.num_actions) for name in policies}
        )

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        return {name: head(features) for name, head in self.heads.items()}

    def keep_only(self, policy: str) -> None:
        """Remove the heads of all other policies."""
        for name in [name for name in self.heads if name != policy]:
            del self.heads[name]


class PooledNetwork(AuxiliaryNetwork):
    """One tower for all heads."""

    def __init__(self, game: Game, settings: PooledRes) -> None:
        super().__init__()
        channels, every = settings.channels, settings.pooling_every
        self.targets = stated(game, settings.targets)
        self.tower = nn.Sequential(
            PlaneScale(game.observation_maximum),
            ConvBlock(game.observation_shape[0], channels, 3),
            *[
                PooledBlock(channels) if every and (i + 1) % every == 0 else ResidualBlock(channels)
                for i in range(settings.blocks)
            ],
        )
        policies = ["policy", *(name for name in self.targets if name in POLICIES)]
        self.policy_head: PooledPolicyHead | LinearPolicyHeads
        if game.action_planes is None:
            self.policy_head = LinearPolicyHeads(channels, game, policies)
        else:
            self.policy_head = PooledPolicyHead(channels, settings.head_channels, game, policies)
        self.value_features = ConvBlock(channels, settings.head_channels, 1)
        self.value_hidden = nn.Sequential(
            GlobalPool(), nn.Linear(2 * settings.head_channels, settings.value_hidden), nn.ReLU()
        )
        self.is_wdl = settings.value == "wdl"
        self.value = nn.Linear(settings.value_hidden, 3 if self.is_wdl else 1)
        sizes = {"score": 1, "later_values": len(HORIZONS), "plies_left": 1}
        self.auxiliary = nn.ModuleDict(
            {n: nn.Linear(settings.value_hidden, k) for n, k in sizes.items() if n in self.targets}
        )
        if "ownership" in self.targets:
            self.auxiliary["ownership"] = nn.Conv2d(settings.head_channels, 1, 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, A] and values [N], view of the player to move, of bytes [N, C, H, W]."""
        features = self.tower(observations)
        hidden = self.value_hidden(self.value_features(features))
        return self.policy_head(features)["policy"], self._values(self.value(hidden))

    def _values(self, value: Tensor) -> Tensor:
        if not self.is_wdl:
            return torch.tanh(value).squeeze(1)
        win, _, loss = torch.softmax(value, 1).unbind(1)
        return win - loss

    def outputs(self, observations: Tensor) -> dict[str, Tensor]:
        features = self.tower(observations)
        policies = self.policy_head(features)
        cells = self.value_features(features)
        hidden = self.value_hidden(cells)
        value = self.value(hidden)
        outputs = {**policies, "policy_logits": policies["policy"], "values": self._values(value)}
        del outputs["policy"]
        if self.is_wdl:
            outputs["wdl_logits"] = value
        for name, head in self.auxiliary.items():
            if name == "ownership":
                outputs[name] = torch.tanh(head(cells)).squeeze(1)
            elif name == "plies_left":
                outputs[name] = _PLIES * nn.functional.softplus(head(hidden)).squeeze(1)
            else:
                outputs[name] = head(hidden)
        if "score" in outputs:
            outputs["score"] = outputs["score"].squeeze(1)
        return outputs

    def for_play(self) -> None:
        self.policy_head.keep_only("policy")
        self.auxiliary = nn.ModuleDict()
