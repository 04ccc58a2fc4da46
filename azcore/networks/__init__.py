"""Networks that evaluate positions: builds, runs, saves and loads them.

Start with `contract.NetworkSettings`, which a custom network subclasses. `towers` and `heads` are
the papers' networks; `pooled`, with its `blocks`, and `transformer` came after them. `registry`
finds and builds networks. `backends` finds the backend that runs one for search, with the
evaluators of `evaluator` and `openvino_evaluator` among others. `saved` builds the network of a
checkpoint.
"""

from azcore.networks.contract import NetworkSettings
from azcore.networks.cost import network_cost
from azcore.networks.registry import build_network, network_settings

__all__ = ["NetworkSettings", "build_network", "network_cost", "network_settings"]
