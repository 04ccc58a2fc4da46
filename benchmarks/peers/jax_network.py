"""A residual network in plain JAX, as large as azcore's in the comparison.

Three choices favour it: batch norms are folded into the convolutions, the layout is the one that
XLA prefers (channels last), and the policy head is AlphaGo Zero's small one for every game.

Letters: N batch, H rows, W columns, C planes, K channels, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

VALUE_HIDDEN = 64  # width of the value head's hidden layer


def make_weights(
    shape: tuple[int, int, int], num_actions: int, blocks: int, channels: int
) -> Mapping[str, Any]:
    """Random weights for observations [H, W, C]."""
    rng = np.random.default_rng(1)
    height, width, planes = shape

    def layer(*size: int) -> tuple[Any, Any]:
        scale = np.sqrt(2 / np.prod(size[:-1]))
        weights = rng.normal(0, scale, size).astype(np.float32)
        return jnp.asarray(weights), jnp.zeros(size[-1], jnp.float32)

    def block() -> tuple[Any, Any]:
        return layer(3, 3, channels, channels), layer(3, 3, channels, channels)

    return {
        "stem": layer(3, 3, planes, channels),
        "blocks": [block() for _ in range(blocks)],
        "policy_planes": layer(1, 1, channels, 2),
        "policy": layer(2 * height * width, num_actions),
        "value_planes": layer(1, 1, channels, 1),
        "value_hidden": layer(height * width, VALUE_HIDDEN),
        "value": layer(VALUE_HIDDEN, 1),
    }


def forward(weights: Mapping[str, Any], observations: Any) -> tuple[Any, Any]:
    """Logits [N, A] and values [N] of observations [N, H, W, C]."""
    size = len(observations)
    features = jax.nn.relu(_convolved(observations.astype(jnp.float32), weights["stem"]))
    for first, second in weights["blocks"]:
        inner = jax.nn.relu(_convolved(features, first))
        features = jax.nn.relu(features + _convolved(inner, second))
    planes = jax.nn.relu(_convolved(features, weights["policy_planes"]))
    logits = _linear(planes.reshape(size, -1), weights["policy"])
    planes = jax.nn.relu(_convolved(features, weights["value_planes"]))
    hidden = jax.nn.relu(_linear(planes.reshape(size, -1), weights["value_hidden"]))
    return logits, jnp.tanh(_linear(hidden, weights["value"]))[:, 0]


def _convolved(inputs: Any, layer: tuple[Any, Any]) -> Any:
    kernel, bias = layer
    numbers = ("NHWC", "HWIO", "NHWC")
    return (
        jax.lax.conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=numbers)
        + bias
    )


def _linear(inputs: Any, layer: tuple[Any, Any]) -> Any:
    weights, bias = layer
    return inputs @ weights + bias
