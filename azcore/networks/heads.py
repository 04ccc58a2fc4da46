"""The heads that compute policy and value from a tower's features.

AlphaGo Zero's policy head is linear (Silver 2017, Nature 24270, Methods "Neural network
architecture"). For games whose actions are planes over the cells, AlphaZero's is convolutional
(Silver 2018, Methods "Architecture") and needs far fewer weights for thousands of actions.

Letters: N batch, K channels, H rows, W columns, A actions.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Activation = Callable[[], nn.Module]


class ConvBlock(nn.Sequential):
    """Convolution, batch norm, activation: [N, C, H, W] -> [N, K, H, W]."""

    def __init__(
        self, planes: int, channels: int, kernel: int, activation: Activation = nn.ReLU
    ) -> None:
        super().__init__(
            # Batch norm has a bias; a second one would have no effect.
            nn.Conv2d(planes, channels, kernel, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(channels),
            activation(),
        )

    @property
    def convolution(self) -> nn.Conv2d:
        convolution = self[0]
        assert isinstance(convolution, nn.Conv2d)
        return convolution


class LinearPolicyHead(nn.Sequential):
    """Two planes, then a linear layer to every action: [N, K, H, W] -> logits [N, A]."""

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        num_actions: int,
        activation: Activation = nn.ReLU,
    ) -> None:
        super().__init__(
            ConvBlock(channels, 2, 1, activation),
            nn.Flatten(),
            nn.Linear(2 * height * width, num_actions),
        )


class ConvolutionalPolicyHead(nn.Sequential):
    """A convolution to the action planes: [N, K, H, W] -> logits [N, A], A = planes × H × W."""

    def __init__(self, channels: int, action_planes: int) -> None:
        super().__init__(
            ConvBlock(channels, channels, 3),
            nn.Conv2d(channels, action_planes, 3, padding=1),  # the paper does not give its size
            PlaneMajor(),
        )


class PlaneMajor(nn.Module):
    """[N, P, H, W] in any memory format -> [N, P × H × W]."""

    def forward(self, planes: Tensor) -> Tensor:
        return planes.contiguous(memory_format=torch.contiguous_format).flatten(1)


class ValueHead(nn.Sequential):
    """One plane, a hidden layer, tanh: [N, K, H, W] -> [N, 1] in [-1, 1]."""

    def __init__(self, channels: int, height: int, width: int, hidden: int) -> None:
        super().__init__(
            ConvBlock(channels, 1, 1),
            nn.Flatten(),
            nn.Linear(height * width, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
            nn.Tanh(),
        )
