"""Writes gumbel_mctx.json: what the library mctx answers, for azcore to be compared with.

azcore does not depend on mctx. In an environment of its own, from the root of the repository:

    pip install mctx==0.0.71 jax==0.10.2
    PYTHONPATH=tests python tests/data/gumbel_mctx.py

It holds sequences of sequential halving, completed Q values with the policies and choices made of
them, and whole searches of the tree in tests/thicket.py.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from mctx._src import action_selection, seq_halving
from mctx._src.tree import Tree

import thicket

VALUES: dict[str, dict[str, Any]] = {  # our names and mctx's arguments for one thing
    "mctx": {},
    "paper, board games": {"value_scale": 0.5, "rescale_values": False},
    "network value": {"use_mixed_value": False},
    "other numbers": {"value_scale": 0.3, "maxvisit_init": 7.0},
}
SEARCHES = [  # (values, simulations, considered, scale of the noise)
    ("mctx", 16, 16, 1.0),
    ("mctx", 16, 4, 1.0),
    ("mctx", 50, 16, 0.0),
    ("mctx", 33, 3, 1.0),
    ("mctx", 2, 16, 1.0),
    ("mctx", 9, 1, 1.0),
    ("paper, board games", 40, 4, 1.0),
    ("network value", 40, 4, 2.0),
    ("other numbers", 64, 5, 0.5),
]
STARTS = [0, 1, 3, 8, 17, 33, 1003]  # all legal at the first, one action at 33, ends next at 1003


def numbers(array: Any) -> list[float]:
    return [float(f"{float(x):.8g}") for x in array]


def bare_tree(logits: Any, visits: Any, q: Any, value: float, root_gumbel: Any) -> Tree:
    """One node with statistics, unbatched."""
    count = len(logits)
    return Tree(
        node_visits=jnp.array([visits.sum() + 1]),
        raw_values=jnp.array([value]),
        node_values=jnp.array([value]),
        parents=jnp.array([-1]),
        action_from_parent=jnp.array([-1]),
        children_index=jnp.full((1, count), -1),
        children_prior_logits=jnp.array(logits)[None],
        children_visits=jnp.array(visits)[None],
        children_rewards=jnp.zeros((1, count)),
        children_discounts=jnp.ones((1, count)),
        children_values=jnp.array(q)[None],
        embeddings=None,
        root_invalid_actions=jnp.zeros(count),
        extra_data=action_selection.GumbelMuZeroExtraData(root_gumbel=jnp.array(root_gumbel)),
    )


def statistics(rng: np.random.Generator) -> list[dict[str, Any]]:
    found = []
    for values, changed in VALUES.items():
        transform = partial(mctx.qtransform_completed_by_mix_value, **changed)
        for case in range(12):
            count = int(rng.integers(2, 9))
            logits = rng.normal(scale=1.5, size=count).astype(np.float32)
            visits = (rng.integers(0, 9, count) * (rng.random(count) < 0.6)).astype(np.int32)
            visits[0] = 0 if case == 0 else max(1, visits[0])
            if case == 1:
                visits = np.maximum(visits, 1)  # all of them tried
            q = (rng.uniform(-1, 1, count) * (visits > 0)).astype(np.float32)
            value = float(np.float32(rng.uniform(-1, 1)))
            tree = bare_tree(logits, visits, q, value, np.zeros(count, np.float32))
            completed = transform(tree, 0)
            found.append(
                {
                    "values": values,
                    "logits": numbers(logits),
                    "visits": visits.tolist(),
                    "q": numbers(q),
                    "value": float(f"{value:.8g}"),
                    "sigma": numbers(completed),
                    "policy": numbers(jax.nn.softmax(logits + completed)),
                    "interior_action": int(
                        action_selection.gumbel_muzero_interior_action_selection(
                            None, tree, 0, 1, qtransform=transform
                        )
                    ),
                }
            )
    return found


def searches() -> list[dict[str, Any]]:
    nodes = range(thicket.NUM_NODES)
    ends = np.array([thicket.is_terminal(n) for n in nodes])
    legal = np.array([thicket.legal(n) for n in nodes])
    logits = np.where(legal, np.array([thicket.logits(n) for n in nodes]), np.float32(-1e9))
    values = np.array([thicket.value(n) for n in nodes])
    seats = np.array([thicket.depth(n) % 2 for n in nodes])
    outcomes = np.array([thicket.outcome(n) for n in nodes])
    results = np.where(seats == 1, outcomes, -outcomes)  # as the player sees it who moved there

    def recurrent(_params: Any, _key: Any, action: Any, node: Any) -> Any:
        over = jnp.array(ends)[node]
        new = jnp.where(over, node, thicket.NUM_ACTIONS * node + action + 1)
        now_over = jnp.array(ends)[new]
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(now_over & ~over, jnp.array(results, jnp.float32)[new], 0.0),
            discount=jnp.where(now_over, 0.0, -1.0),
            prior_logits=jnp.array(logits)[new],
            value=jnp.where(now_over, 0.0, jnp.array(values)[new]),
        )
        return output, new

    starts = jnp.array(STARTS)
    found = []
    for i, (name, simulations, considered, scale) in enumerate(SEARCHES):
        output = mctx.gumbel_muzero_policy(
            params=None,
            rng_key=jax.random.PRNGKey(i),
            root=mctx.RootFnOutput(
                prior_logits=jnp.array(logits)[starts],
                value=jnp.array(values)[starts],
                embedding=starts,
            ),
            recurrent_fn=recurrent,
            num_simulations=simulations,
            invalid_actions=jnp.array(~legal)[starts].astype(jnp.int32),
            qtransform=partial(mctx.qtransform_completed_by_mix_value, **VALUES[name]),
            max_num_considered_actions=considered,
            gumbel_scale=scale,
        )
        tree = output.search_tree
        q = tree.qvalues(jnp.zeros(len(STARTS), jnp.int32))
        for row, start in enumerate(STARTS):
            assert legal[start].any()
            visits, waiting = {}, [(0, start)]
            while waiting:
                place, node = waiting.pop()
                if ends[node]:
                    continue
                visits[str(node)] = tree.children_visits[row, place].tolist()
                for action in range(thicket.NUM_ACTIONS):
                    below = int(tree.children_index[row, place, action])
                    if below >= 0:
                        waiting.append((below, thicket.child(node, action)))
            found.append(
                {
                    "values": name,
                    "simulations": simulations,
                    "considered": considered,
                    "start": start,
                    # as scaled: the search is to be given it with scale 1
                    "gumbel": numbers(tree.extra_data.root_gumbel[row]),
                    "action": int(output.action[row]),
                    "policy": numbers(output.action_weights[row]),
                    "q": numbers(q[row]),
                    "visits": visits,
                }
            )
    return found


def main() -> None:
    answers = {
        "made_by": f"tests/data/gumbel_mctx.py with mctx {mctx.__version__}, jax {jax.__version__}",
        "values": VALUES,
        "considered_visits": [
            [m, n, list(map(int, seq_halving.get_sequence_of_considered_visits(m, n)))]
            for m in (1, 2, 3, 4, 5, 7, 16, 30)
            for n in (1, 2, 5, 16, 33, 64, 100)
        ],
        "statistics": statistics(np.random.default_rng(1)),
        "searches": searches(),
    }
    groups = []
    for name, answer in answers.items():  # a line for each case
        lines = ",\n".join(json.dumps(a) for a in answer) if isinstance(answer, list) else ""
        groups.append(f"{json.dumps(name)}: " + (f"[\n{lines}\n]" if lines else json.dumps(answer)))
    path = Path(__file__).with_name("gumbel_mctx.json")
    path.write_text("{\n" + ",\n".join(groups) + "\n}\n")


if __name__ == "__main__":
    main()
