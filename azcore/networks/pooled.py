"""Heads that pool, also for auxiliary targets, and their residual tower.

Because the heads pool the board (Wu 2019, arXiv:1902.10565), each is far smaller than one with a
linear layer over all cells, and has several channels: the papers' value head begins with a single
plane, and a single plane can die behind its ReLU.

Letters: N batch, K channels, H rows, W columns, A actions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from azcore.game import Game
from azcore.networks.blocks import (
    GlobalPool,
    NestedBlock,
    PlainBlock,
    PooledBlock,
    Style,
    ending,
    opening,
)
from azcore.networks.contract import AuxiliaryNetwork
from azcore.networks.heads import Activation, ConvBlock, LinearPolicyHead, PlaneMajor
from azcore.networks.towers import SettingsWithHistory, input_layers
from azcore.settings import NOT_NEGATIVE, ONE_OR_MORE, one_of, require
from azcore.storage.targets import HORIZONS, TARGETS, stated

ACTIVATIONS = {"relu": nn.ReLU, "mish": nn.Mish}
VALUES = ("scalar", "wdl")
_PLIES = 20.0  # one unit of the head for `plies_left` (lc0)
POLICIES = ("policy", "reply", "soft_policy")  # outputs with a logit for each action


@dataclass(frozen=True, kw_only=True)
class PooledSettings(SettingsWithHistory):
    """The settings that networks with these heads share."""

    activation: Annotated[str, one_of(ACTIVATIONS)]  # of the whole network
    head_channels: Annotated[int, ONE_OR_MORE]  # of policy and value head
    # "wdl": probabilities of win, draw and loss
    value: Annotated[str, one_of(VALUES)]
    auxiliary: dict[str, bool]  # whether to predict a target, too, if the game states it

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(set(self.auxiliary) - set(TARGETS))
        names = f"of {', '.join(TARGETS)}"
        require(not unknown, "network.auxiliary", names, ", ".join(unknown))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(name for name in TARGETS if self.auxiliary.get(name))


@dataclass(frozen=True, kw_only=True)
class PooledRes(PooledSettings):
    """The settings of `network=pooled_res`."""

    pooling_every: Annotated[int, NOT_NEGATIVE]  # block that sees the whole board; 0: none
    squeeze_excite: int  # channels for each hidden unit; 0: none
    preactivation: bool
    # blocks of half the channels inside each block; 0: plain blocks
    bottleneck: Annotated[int, NOT_NEGATIVE]

    def __post_init__(self) -> None:
        super().__post_init__()
        halved = 2 if self.bottleneck else 1
        for least, reason in ((4 if self.pooling_every else 0, "pooling_every"), (1, "bottleneck")):
            wanted = f"{least * halved} or more with network.{reason}"
            fits = self.channels >= least * halved
            require(fits, "network.channels", wanted, self.channels)
        ratio, ratios = self.squeeze_excite, f"0 to network.channels={self.channels}"
        require(0 <= ratio <= self.channels, "network.squeeze_excite", ratios, ratio)

    def build(self, game: Game) -> nn.Module:
        return PooledNetwork(game, self, self._tower(game))

    def _tower(self, game: Game) -> nn.Module:
        """Observations [N, C, H, W] to features [N, K, H, W]."""
        style = Style(
            activation=ACTIVATIONS[self.activation],
            preactivation=self.preactivation,
            squeeze_excite=self.squeeze_excite,
        )
        every = self.pooling_every
        return nn.Sequential(
            *input_layers(game, self),
            opening(len(self.planes(game)), self.channels, 3, style),
            *[self._block(bool(every) and (i + 1) % every == 0, style) for i in range(self.blocks)],
            ending(self.channels, style),
        )

    def _block(self, is_pooled: bool, style: Style) -> nn.Module:
        if self.bottleneck:
            return NestedBlock(self.channels, self.bottleneck, is_pooled, style)
        return (PooledBlock if is_pooled else PlainBlock)(self.channels, style)


class PooledPolicyHead(nn.Module):
    """Logits of several policies from the same features: [N, K, H, W] -> [N, A] each.

    A 1x1 convolution gives the actions of each cell, so that learning in one place applies to all;
    actions without a cell, such as a pass, depend on the pooled features.
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        game: Game,
        policies: Iterable[str],
        activation: Activation,
    ) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        assert game.action_planes is not None
        planes, others = game.action_planes, game.num_actions
        others -= planes * height * width
        self.local = nn.Sequential(
            nn.Conv2d(channels, hidden, 1, bias=False), nn.BatchNorm2d(hidden)
        )
        self.pooled = nn.Sequential(ConvBlock(channels, hidden, 1, activation), GlobalPool())
        self.bias = nn.Linear(2 * hidden, hidden)
        self.activation = activation()
        self.cells = nn.ModuleDict(
            {name: nn.Sequential(nn.Conv2d(hidden, planes, 1), PlaneMajor()) for name in policies}
        )
        self.others = nn.ModuleDict(
            {name: nn.Linear(2 * hidden, others) for name in policies if others > 0}
        )

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        pooled = self.pooled(features)
        local = self.activation(self.local(features) + self.bias(pooled)[:, :, None, None])
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
    """`PooledPolicyHead` for games whose actions have no cells: a linear head for each."""

    def __init__(
        self, channels: int, game: Game, policies: Iterable[str], activation: Activation
    ) -> None:
        super().__init__()
        _, height, width = game.observation_shape
        self.heads = nn.ModuleDict(
            {
                name: LinearPolicyHead(channels, height, width, game.num_actions, activation)
                for name in policies
            }
        )

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        return {name: head(features) for name, head in self.heads.items()}

    def keep_only(self, policy: str) -> None:
        """Remove the heads of all other policies."""
        for name in [name for name in self.heads if name != policy]:
            del self.heads[name]


def values_of(last: Tensor, is_wdl: bool) -> Tensor:
    """Values [N] in [-1, 1] from the last layer's [N, 1], or its logits of win, draw and loss."""
    if not is_wdl:
        return torch.tanh(last).squeeze(1)
    win, _, loss = torch.softmax(last, 1).unbind(1)
    return win - loss


class PooledNetwork(AuxiliaryNetwork):
    """One tower for all heads.

    Args:
        tower: observations [N, C, H, W] to features [N, K, H, W], K being `settings.channels`.
    """

    def __init__(self, game: Game, settings: PooledSettings, tower: nn.Module) -> None:
        super().__init__()
        channels, hidden = settings.channels, settings.head_channels
        activation = ACTIVATIONS[settings.activation]
        self.targets = stated(game, settings.targets)
        self.tower = tower
        policies = ["policy", *(name for name in self.targets if name in POLICIES)]
        self.policy_head: PooledPolicyHead | LinearPolicyHeads
        if game.action_planes is None:
            self.policy_head = LinearPolicyHeads(channels, game, policies, activation)
        else:
            self.policy_head = PooledPolicyHead(channels, hidden, game, policies, activation)
        self.value_features = ConvBlock(channels, hidden, 1, activation)
        self.value_hidden = nn.Sequential(
            GlobalPool(), nn.Linear(2 * hidden, settings.value_hidden), activation()
        )
        self.is_wdl = settings.value == "wdl"
        self.value = nn.Linear(settings.value_hidden, 3 if self.is_wdl else 1)
        sizes = {"score": 1, "material": 1, "later_values": len(HORIZONS), "plies_left": 1}
        self.auxiliary = nn.ModuleDict(
            {n: nn.Linear(settings.value_hidden, k) for n, k in sizes.items() if n in self.targets}
        )
        if "ownership" in self.targets:
            self.auxiliary["ownership"] = nn.Conv2d(hidden, 1, 1)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, A] and values [N], view of the player to move, of bytes [N, C, H, W]."""
        features = self.tower(observations)
        hidden = self.value_hidden(self.value_features(features))
        return self.policy_head(features)["policy"], values_of(self.value(hidden), self.is_wdl)

    def outputs(self, observations: Tensor) -> dict[str, Tensor]:
        features = self.tower(observations)
        policies = self.policy_head(features)
        cells = self.value_features(features)
        hidden = self.value_hidden(cells)
        value = self.value(hidden)
        outputs = {
            **policies,
            "policy_logits": policies["policy"],
            "values": values_of(value, self.is_wdl),
        }
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
        if "material" in outputs:
            outputs["material"] = torch.tanh(outputs["material"]).squeeze(1)
        return outputs

    def for_play(self) -> None:
        self.policy_head.keep_only("policy")
        self.auxiliary = nn.ModuleDict()
