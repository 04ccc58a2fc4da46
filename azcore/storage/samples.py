"""The learner's samples, and what a package may replace in them.

Letters: N samples, A actions, C H W planes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from azcore.game import BoolArray, ByteArray, FloatArray, IntArray
from azcore.settings import require


@dataclass(frozen=True)
class Samples:
    """N training rows, every value in the view of the player to move."""

    observations: ByteArray  # [N, C, H, W]
    legal_action_mask: BoolArray  # [N, A], True = legal
    policy_targets: FloatArray  # [N, A], pi: the policy that the network should learn
    value_targets: FloatArray  # [N], z: the game's outcome for the player to move, or a mixture
    auxiliary: Mapping[str, FloatArray]  # by name, see `ReplayBuffer`; and any `value_weights` [N]


@dataclass(frozen=True)
class Drawn:
    """The window's data on N drawn positions, every value in the view of the player to move.

    Not yet mapped by a symmetry.
    """

    observations: ByteArray  # [N, C, H, W]
    legal_action_mask: BoolArray  # [N, A], True = legal
    policy_targets: FloatArray  # [N, A], the policy of the search
    value_targets: FloatArray  # [N], the outcome, optionally mixed with `root_values`
    outcomes: FloatArray  # [N], -1, 0 or 1
    root_values: FloatArray  # [N], of the search; 0 without a search
    later_values: FloatArray  # [N, 3], `root_values` of the plies to come, see `HORIZONS`
    plies: IntArray  # int32 [N], before the position
    plies_left: FloatArray  # [N], to the end of the game
    weights_version: IntArray  # int64 [N], optimizer steps behind the weights that played


# Arrays by name: new `policy_targets` and `value_targets`, and others for a custom learner.
Targets = Callable[[Drawn], Mapping[str, npt.ArrayLike]]
Augmentation = Callable[[Samples, np.random.Generator], Samples]


def with_targets(samples: Samples, targets: Mapping[str, npt.ArrayLike]) -> Samples:
    """Samples with other or additional targets.

    Args:
        samples: N of them.
        targets: `policy_targets` and `value_targets` in place of theirs, others under new names;
            all become float32.

    Raises:
        SettingError: an array has a shape or a name that it cannot have.
    """
    arrays = {name: np.ascontiguousarray(given, np.float32) for name, given in targets.items()}
    for name, array in arrays.items():
        where = f"{name} of plugins.targets"
        require(name not in ("observations", "legal_action_mask"), where, "left out", name)
        size = len(samples.value_targets)
        wanted = {"policy_targets": samples.policy_targets.shape, "value_targets": (size,)}
        shape = wanted.get(name, (size, *array.shape[1:]))
        require(array.shape == shape, where, f"of shape {shape}", array.shape)
    return replace(
        samples,
        policy_targets=arrays.pop("policy_targets", samples.policy_targets),
        value_targets=arrays.pop("value_targets", samples.value_targets),
        auxiliary={**samples.auxiliary, **arrays},
    )
