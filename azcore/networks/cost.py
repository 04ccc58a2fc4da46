"""The cost of a network: trainable weights, and floating-point operations for one position."""

import copy
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from azcore.game import Game
from azcore.networks.contract import AuxiliaryNetwork


@dataclass(frozen=True)
class NetworkCost:
    parameters: int  # numbers that training changes
    flops: int  # multiplications and additions of matrix products and convolutions, one evaluation

    def __str__(self) -> str:
        return f"{self.parameters:,} parameters, {self.flops / 1e6:,.4g} MFLOP an evaluation"


def network_cost(network: nn.Module, game: Game) -> NetworkCost:
    counted = copy.deepcopy(network).cpu().eval()
    if isinstance(counted, AuxiliaryNetwork):
        counted.for_play()
    # For attention, torch counts only the products of its plain formula.
    plain = sdpa_kernel(SDPBackend.MATH)
    with FlopCounterMode(display=False) as counter, torch.no_grad(), plain:
        counted(torch.zeros((1, *game.observation_shape)))
    parameters = sum(weights.numel() for weights in network.parameters())
    return NetworkCost(parameters=parameters, flops=int(counter.get_total_flops()))
