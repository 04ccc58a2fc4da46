"""Networks: a tower of convolutions and the heads that read policy and value from it.

`build_network` makes one by name; `NetworkEvaluator` runs one for search.
"""

from azcore.networks.cost import network_cost
from azcore.networks.towers import NetworkSettings, build_network

__all__ = ["NetworkSettings", "build_network", "network_cost"]
