"""Networks: what judges a position, and how it is run, kept and read.

Begin at `contract.NetworkSettings`, which a network of one's own fills in. `towers` and `heads` are
the papers'. `registry` finds networks and builds them, `backends` finds what runs one for search,
`evaluator` and `openvino_evaluator` are such, `checkpoint` keeps weights on disk.
"""

from azcore.networks.contract import NetworkSettings
from azcore.networks.cost import network_cost
from azcore.networks.registry import build_network, network_settings

__all__ = ["NetworkSettings", "build_network", "network_cost", "network_settings"]
