"""The network is the papers', and search sees the same network as training."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import azcore
from azcore.errors import SettingError
from azcore.game import Game
from azcore.networks import (
    NetworkSettings,
    build_network,
    network_cost,
    network_settings,
    openvino_evaluator,
    probe,
)
from azcore.networks.backends import (
    Conditions,
    EvaluatorSettings,
    backend_named,
    require_runnable,
)
from azcore.networks.cuda_graphs import CudaGraphEvaluator, size_of_graph
from azcore.networks.evaluator import NetworkEvaluator
from azcore.networks.openvino_evaluator import OpenVinoEvaluator, is_installed
from azcore.networks.towers import DualRes, input_layers
from azcore.search.evaluators import Evaluator
from networks import test_pooled, test_transformer

GAME = azcore.make("go", board_size=5)
SETTINGS = DualRes(
    name="dual_res", blocks=2, channels=8, policy_head="auto", value_hidden=4, history=None
)
CPU = torch.device("cpu")
Backend = Callable[[torch.nn.Module, Game, torch.dtype], Evaluator]
needs_openvino = pytest.mark.skipif(not is_installed(), reason="OpenVINO is not installed")
GPU = torch.device("cuda")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
NAMES = ["dual_res", "sep_res", "dual_conv", "sep_conv"]


def named(name: str) -> NetworkSettings:
    return network_settings({**asdict(SETTINGS), "name": name})


def with_action_planes() -> Game:
    """A game of 3 planes of actions over 5x5 cells, one of whose observation planes counts to 9."""
    game = copy(GAME)
    game.num_actions, game.action_planes = 75, 3
    game.observation_maximum = np.array([1] * 16 + [9], np.float32)
    return game


def trained_a_little(game: Game = GAME, name: str = "dual_res") -> torch.nn.Module:
    """A network whose batch norms have seen data, so that folding them matters."""
    network = build_network(game, named(name), seed=1)
    torch.manual_seed(1)
    for _ in range(5):
        network(torch.randint(0, 9, (16, 17, 5, 5)))
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return network.eval()


def by_torch(network: torch.nn.Module, game: Game, dtype: torch.dtype) -> Evaluator:
    return NetworkEvaluator(network=network, device=CPU, dtype=dtype)


def by_openvino(network: torch.nn.Module, game: Game, dtype: torch.dtype) -> Evaluator:
    return OpenVinoEvaluator(network=network, game=game, dtype=dtype, threads=2, callers=2)


def by_torch_on_gpu(network: torch.nn.Module, game: Game, dtype: torch.dtype) -> Evaluator:
    return NetworkEvaluator(network=network, device=GPU, dtype=dtype)


def by_cuda_graphs(network: torch.nn.Module, game: Game, dtype: torch.dtype) -> Evaluator:
    """With a graph from the first evaluation on."""
    evaluator = CudaGraphEvaluator(network=network, game=game, device=GPU, dtype=dtype)
    evaluator.uses_before_capture = 0
    return evaluator


def test_a_row_depends_on_its_observation_alone(run_by: Backend) -> None:
    evaluator = run_by(trained_a_little(), GAME, torch.float32)
    rng = np.random.default_rng(1)
    observations = rng.integers(0, 9, (64, 17, 5, 5), np.uint8)
    policy_logits, values = (array.copy() for array in evaluator.evaluate(observations))
    order = rng.permutation(64)
    other_logits, other_values = (a.copy() for a in evaluator.evaluate(observations[order]))
    # The place in a batch decides how sums are rounded, nothing more.
    np.testing.assert_allclose(other_logits, policy_logits[order], atol=1e-5)
    np.testing.assert_allclose(other_values, values[order], atol=1e-6)
    for again in (evaluator, evaluator.for_another_thread()):
        again_logits, again_values = again.evaluate(observations)
        np.testing.assert_array_equal(again_logits, policy_logits)
        np.testing.assert_array_equal(again_values, values)


def test_graphs_have_few_sizes_and_waste_little() -> None:
    sizes = [size_of_graph(positions) for positions in range(1, 4097)]
    assert sizes[:18] == [*range(1, 17), 18, 18]
    assert len(set(sizes)) == 16 + 8 * 8
    assert all(
        0 <= size - positions < max(1, positions / 8) for positions, size in enumerate(sizes, 1)
    )


@needs_gpu
def test_a_size_gets_its_graph_when_it_is_no_longer_rare() -> None:
    evaluator = CudaGraphEvaluator(
        network=trained_a_little(), game=GAME, device=GPU, dtype=torch.float32
    )
    observations = np.random.default_rng(1).integers(0, 9, (40, 17, 5, 5), np.uint8)
    expected = by_torch_on_gpu(trained_a_little(), GAME, torch.float32).evaluate(observations)[0]
    for size in (33, 40, 33, 34, 40, 7, 33, 0, 40):  # 33 and 34 share the graph for 36
        logits, values = evaluator.evaluate(observations[:size])
        np.testing.assert_allclose(logits, expected[:size], atol=0.02 * np.abs(expected).max())
        assert values.shape == (size,)
    assert sorted(evaluator._graphs) == [1, 36, 40]


@needs_gpu
def test_a_network_that_waits_for_its_results_has_no_graph() -> None:
    class Waiting(torch.nn.Module):
        def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            values = observations.flatten(1).float().mean(1)
            if values.sum().item() > 0:
                values = -values
            return torch.zeros(len(values), GAME.num_actions, device=GPU), values

    with pytest.raises(SettingError, match="cuda_graphs cannot run this network"):
        by_cuda_graphs(Waiting(), GAME, torch.float32)
    evaluator = by_torch_on_gpu(Waiting(), GAME, torch.float32)  # nor does it harm what follows
    assert evaluator.evaluate(np.ones((3, 17, 5, 5), np.uint8))[1] == pytest.approx(-1.0)


@needs_openvino
def test_networks_that_differ_in_weights_alone_are_traced_once() -> None:
    """Memory would grow with each rated checkpoint: torch never frees a trace."""
    observations = np.random.default_rng(1).integers(0, 9, (4, 17, 5, 5), np.uint8)
    by_openvino(build_network(GAME, SETTINGS, seed=1), GAME, torch.float32)
    known = len(openvino_evaluator._graphs)
    for seed in (2, 3):
        network = build_network(GAME, SETTINGS, seed=seed).eval()
        logits, _ = by_openvino(network, GAME, torch.float32).evaluate(observations)
        with torch.inference_mode():
            expected, _ = network(torch.from_numpy(observations))
        np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert len(openvino_evaluator._graphs) == known
    by_openvino(build_network(GAME, replace(SETTINGS, channels=5), seed=1), GAME, torch.float32)
    assert len(openvino_evaluator._graphs) == known + 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.jit")  # as torch compiles
def test_torch_compile() -> None:
    """Once for all sizes of batches, threads that begin at once and networks of one shape."""
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    network, rng = trained_a_little(), np.random.default_rng(1)
    batches = [rng.integers(0, 9, (size, 17, 5, 5), np.uint8) for size in (4, 7, 16, 64)]
    for _ in range(2):
        evaluator = NetworkEvaluator(
            network=network, device=CPU, dtype=torch.float32, threads=1, compiled=True
        )
        plain = by_torch(network, GAME, torch.float32)
        with ThreadPoolExecutor(len(batches)) as pool:
            evaluators = evaluator.for_threads(len(batches))
            waiting = [pool.submit(e.evaluate, b) for e, b in zip(evaluators, batches, strict=True)]
        for answers, batch in zip(waiting, batches, strict=True):
            for ours, theirs in zip(answers.result(), plain.evaluate(batch), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-4)
        for parameter in network.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    # Torch may tell small batches from large ones, but no thread, size or network has its own.
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] - before <= 2


def test_evaluator_keeps_its_own_weights(run_by: Backend) -> None:
    """And a later one has the later weights, biases that were zeros at first among them."""
    network = build_network(GAME, SETTINGS, seed=1)
    observations = np.ones((2, 17, 5, 5), np.uint8)
    evaluators, expected = [], []
    for _ in range(3):
        evaluators.append(run_by(network.eval(), GAME, torch.float32))
        expected.append(evaluators[-1].evaluate(observations)[1].copy())
        for parameter in network.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    assert len({value[0] for value in expected}) == 3
    for evaluator, values in zip(evaluators, expected, strict=True):
        np.testing.assert_array_equal(evaluator.evaluate(observations)[1], values)


def test_several_threads_evaluate_at_once(run_by: Backend) -> None:
    rng = np.random.default_rng(1)
    batches = [rng.integers(0, 9, (size, 17, 5, 5), np.uint8) for size in (3, 8, 5)]
    first = run_by(trained_a_little(), GAME, torch.float32)
    expected = [first.evaluate(batch)[0].copy() for batch in batches]
    evaluators = [first, first.for_another_thread(), first.for_another_thread()]

    def repeat(number: int) -> bool:
        return all(
            np.allclose(
                evaluators[number].evaluate(batches[number])[0], expected[number], atol=1e-5
            )
            for _ in range(50)
        )

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(repeat, range(3))) == [True, True, True]


def test_observations_may_lie_in_memory_in_any_way(run_by: Backend) -> None:
    """And the caller may forget them."""
    observations = np.random.default_rng(1).integers(0, 9, (64, 17, 5, 5), np.uint8)
    evaluator = run_by(trained_a_little(), GAME, torch.float32)
    expected = evaluator.evaluate(observations)[0].copy()
    backwards = np.asfortranarray(observations[::-1])
    np.testing.assert_allclose(evaluator.evaluate(backwards)[0], expected[::-1], atol=1e-5)


def test_threads_of_an_evaluator_are_its_own() -> None:
    network = trained_a_little()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    evaluator = NetworkEvaluator(network=network, device=CPU, dtype=torch.float32, threads=1)
    evaluate = evaluator.prepared(np.ones((2, 17, 5, 5), np.uint8))

    def threads_after() -> int:
        evaluate()
        return torch.get_num_threads()

    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(threads_after).result() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


SIGNALLED = """
import gc, os, signal, sys, threading
import torch
import azcore
from azcore.networks import build_network
from azcore.networks.openvino_evaluator import OpenVinoEvaluator
from azcore.networks.towers import DualRes

game = azcore.make("tic_tac_toe")
settings = DualRes(
    name="dual_res", blocks=1, channels=4, policy_head="auto", value_hidden=4, history=None
)
network = build_network(game, settings, 1)

def evaluator():
    return OpenVinoEvaluator(
        network=network, game=game, dtype=torch.float32, threads=1, callers=1
    )

alive = [evaluator(), evaluator()]
if sys.argv[1] == "first made, first gone":
    del alive[0]
    del alive[0]
else:
    thread = threading.Thread(target=alive.clear)
    thread.start()
    thread.join()
gc.collect()
signal.signal(signal.SIGINT, lambda *_: print("Ctrl-C"))
os.kill(os.getpid(), signal.SIGINT)
"""


@needs_openvino
@pytest.mark.parametrize("order", ["first made, first gone", "gone on another thread"])
def test_signals_are_heard_when_networks_have_come_and_gone(order: str) -> None:
    """OpenVINO moves the stack of signal handlers; see `openvino_evaluator._core`."""
    command = [sys.executable, "-c", SIGNALLED, order]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "Ctrl-C\n"), ended.stderr


@needs_openvino
def test_openvino_does_not_report_its_use() -> None:
    code = (
        "import sys, azcore.networks.openvino_evaluator as o; o._openvino(); "
        "assert sys.modules['openvino_telemetry'] is None; "
        "assert 'openvino.tools.ovc.telemetry_stub' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_backend_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: True)
    cuda = torch.device("cuda")
    for name, device in (
        ("auto", CPU),
        ("torch", CPU),
        ("openvino", CPU),
        ("auto", cuda),
        ("compile", cuda),
    ):
        require_runnable(name, device)
    with pytest.raises(SettingError, match=r"evaluator.backend must be torch on cuda"):
        require_runnable("openvino", cuda)
    monkeypatch.setattr(openvino_evaluator, "is_installed", lambda: False)
    with pytest.raises(SettingError, match=r"azcore\[openvino\] is installed, got 'openvino'"):
        require_runnable("openvino", CPU)
    with pytest.raises(SettingError, match=r"one of auto, .*torch, got 'onnx'"):
        require_runnable("onnx", CPU)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SettingError, match=r"C\+\+ compiler \(no-such-compiler, or .*'compile'"):
        require_runnable("compile", CPU)


class Product(torch.nn.Module):
    """Has two weights that a graph makes one of, and a batch norm that nothing can be folded in."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.one, self.other = (torch.nn.Parameter(torch.rand(1)) for _ in range(2))
        self.num_actions = game.num_actions

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values = observations.to(self.one.dtype).mean((1, 2, 3)) * (self.one * self.other)
        return values[:, None].expand(-1, self.num_actions), values


@needs_openvino
def test_auto_takes_torch_where_openvino_cannot_run_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    network = Product(GAME)
    network.built_from = "product"  # type: ignore[assignment]
    conditions = Conditions(game=GAME, device=CPU, dtype=torch.float32, cores=1, callers=1)
    for _ in range(2):
        with pytest.raises(SettingError, match="OpenVINO cannot run: its graph lacks the weights"):
            backend_named("openvino").evaluator(network, conditions)
    left_open = EvaluatorSettings(
        backend="auto", precision="auto", threads=None, random_symmetry=False, cache=0
    )
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = probe.fastest(left_open, network, GAME, CPU, cores=2, callers=2)
        assert torch.get_num_threads() == 3  # which the learner uses
    finally:
        torch.set_num_threads(before)
    assert (found.way.backend, found.way.precision) == ("torch", "float32")
    only_openvino = replace(left_open, backend="openvino")  # which leaves the precision open
    with pytest.raises(SettingError, match="OpenVINO cannot run: its graph lacks the weights"):
        probe.fastest(only_openvino, network, GAME, CPU, cores=1, callers=1)


def test_weights_come_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    first = build_network(GAME, SETTINGS, seed=1).state_dict()
    again = build_network(GAME, SETTINGS, seed=1).state_dict()
    other = build_network(GAME, SETTINGS, seed=2).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


# By hand, for 17 planes of 5x5 cells, 8 channels and 2 blocks: weights of a 3x3 convolution are
# planes x channels x 9, and a batch norm adds a scale and a shift for each channel.
FIRST = 17 * 8 * 9 + 16
CONVOLUTION = 8 * 8 * 9 + 16
LINEAR_HEAD = (8 * 2 + 4) + (2 * 25 + 1) * 26
CONVOLUTIONAL_HEAD = CONVOLUTION + (8 * 3 * 9 + 3)
VALUE_HEAD = (8 + 2) + (25 + 1) * 4 + (4 + 1)
# A multiplication and an addition for each weight of a convolution at each cell; a linear layer
# uses each weight once. Norms, biases and activations are not counted.
FIRST_FLOPS = 2 * 17 * 8 * 9 * 25
CONVOLUTION_FLOPS = 2 * 8 * 8 * 9 * 25
LINEAR_HEAD_FLOPS = 2 * 8 * 2 * 25 + 2 * 50 * 26
CONVOLUTIONAL_HEAD_FLOPS = CONVOLUTION_FLOPS + 2 * 8 * 3 * 9 * 25
VALUE_HEAD_FLOPS = 2 * 8 * 25 + 2 * 25 * 4 + 2 * 4


@pytest.mark.parametrize(
    ("name", "towers", "convolutions"),
    [("dual_res", 1, 4), ("sep_res", 2, 4), ("dual_conv", 1, 2), ("sep_conv", 2, 2)],
)
def test_costs_are_those_counted_by_hand(name: str, towers: int, convolutions: int) -> None:
    for game, head, head_flops in (
        (GAME, LINEAR_HEAD, LINEAR_HEAD_FLOPS),
        (with_action_planes(), CONVOLUTIONAL_HEAD, CONVOLUTIONAL_HEAD_FLOPS),
    ):
        network = build_network(game, named(name), seed=1)
        cost = network_cost(network, game)
        assert cost.parameters == towers * (FIRST + convolutions * CONVOLUTION) + head + VALUE_HEAD
        tower_flops = FIRST_FLOPS + convolutions * CONVOLUTION_FLOPS
        assert cost.flops == towers * tower_flops + head_flops + VALUE_HEAD_FLOPS


def test_planes_are_divided_by_their_maximum() -> None:
    nine = torch.zeros(1, 17, 5, 5, dtype=torch.uint8)
    nine[:, 16] = 9
    one = torch.zeros(1, 17, 5, 5, dtype=torch.uint8)
    one[:, 16] = 1
    plain = build_network(GAME, SETTINGS, seed=1).tower  # type: ignore[union-attr]
    divided = build_network(with_action_planes(), SETTINGS, seed=1).tower  # type: ignore[union-attr]
    assert torch.equal(plain.eval()(one), divided.eval()(nine))  # type: ignore[operator]


@pytest.mark.parametrize("name", [*NAMES, "pooled_res", "transformer"])
def test_a_network_sees_as_much_of_the_past_as_its_history(name: str) -> None:
    kinds = {"pooled_res": test_pooled.SETTINGS, "transformer": test_transformer.SETTINGS}
    settings = replace(kinds.get(name) or named(name), history=2)
    network = build_network(GAME, settings, seed=1).eval()
    seen = torch.randint(0, 2, (6, *GAME.observation_shape), generator=torch.Generator())
    expected = network(seen)[0]
    for plane, age in enumerate(GAME.plane_ages):
        other = seen.clone()
        other[:, plane] = 1 - other[:, plane]
        assert torch.equal(network(other)[0], expected) == (age >= 2), plane
    assert "history 2" in str(settings)


def test_each_plane_keeps_its_maximum() -> None:
    chess = azcore.make("chess")
    most = torch.from_numpy(chess.observation_maximum)[None, :, None, None]
    layers = torch.nn.Sequential(*input_layers(chess, replace(SETTINGS, history=2)))
    assert torch.equal(layers(most), torch.ones(1, 35, 1, 1))


def test_a_history_of_all_positions_changes_nothing() -> None:
    whole = build_network(GAME, SETTINGS, seed=1)
    other = build_network(GAME, replace(SETTINGS, history=8), seed=1)
    assert list(whole.state_dict()) == list(other.state_dict())
    seen = test_pooled.some(GAME)
    assert torch.equal(whole.eval()(seen)[0], other.eval()(seen)[0])


@pytest.mark.parametrize(
    ("game", "history", "most"), [(GAME, 9, 8), (azcore.make("tic_tac_toe"), 2, 1)]
)
def test_more_positions_than_the_game_shows_are_refused(
    game: Game, history: int, most: int
) -> None:
    words = f"network.history must be 1 to {most}, the positions that {game.name} shows, or null"
    with pytest.raises(SettingError, match=f"{words}, got {history}"):
        build_network(game, replace(SETTINGS, history=history), seed=1)


def test_a_convolutional_head_speaks_of_actions_plane_by_plane() -> None:
    network = build_network(with_action_planes(), SETTINGS, seed=1).eval()
    last = network.policy_head[1]  # type: ignore[index]
    last.weight.data.zero_()
    last.bias.data[:] = torch.tensor([0.0, 1.0, 2.0])
    observations = torch.zeros(2, 17, 5, 5).contiguous(memory_format=torch.channels_last)
    logits, _ = network(observations)
    assert logits.tolist() == [[0.0] * 25 + [1.0] * 25 + [2.0] * 25] * 2


def test_a_head_that_does_not_fit_the_game_is_refused() -> None:
    linear = build_network(with_action_planes(), replace(SETTINGS, policy_head="linear"), seed=1)
    assert linear(torch.zeros(2, 17, 5, 5))[0].shape == (2, 75)
    with pytest.raises(SettingError, match=r"go, whose actions are not .* got 'convolutional'"):
        build_network(GAME, replace(SETTINGS, policy_head="convolutional"), seed=1)
    with pytest.raises(SettingError, match="one of auto, linear, convolutional, got 'round'"):
        replace(SETTINGS, policy_head="round")


def convolved(planes: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """3x3 or 1x1 convolution with zeros around, [C, H, W] and [K, C, k, k] -> [K, H, W]."""
    reach = kernel.shape[2] // 2
    height, width = planes.shape[1:]
    padded = np.pad(planes, ((0, 0), (reach, reach), (reach, reach)))
    out = np.zeros((len(kernel), height, width))
    for row in range(height):
        for column in range(width):
            seen = padded[:, row : row + 2 * reach + 1, column : column + 2 * reach + 1]
            out[:, row, column] = (kernel * seen).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("name", ["dual_res", "dual_conv"])
def test_a_forward_pass_in_numpy(name: str) -> None:
    network = trained_a_little(name=name)
    weights = {key: value.detach().numpy() for key, value in network.state_dict().items()}

    def normed(planes: np.ndarray, at: str) -> np.ndarray:
        mean, variance = weights[f"{at}.running_mean"], weights[f"{at}.running_var"]
        scale = weights[f"{at}.weight"] / np.sqrt(variance + 1e-5)
        shifted = (planes - mean[:, None, None]) * scale[:, None, None]
        return np.asarray(shifted + weights[f"{at}.bias"][:, None, None])

    def block(planes: np.ndarray, at: str) -> np.ndarray:
        """Convolution, batch norm, ReLU."""
        return np.maximum(normed(convolved(planes, weights[f"{at}.0.weight"]), f"{at}.1"), 0)

    observation = np.random.default_rng(1).integers(0, 2, (17, 5, 5), np.uint8)
    x = block(observation.astype(float), "tower.1")
    for i in (2, 3):
        if name == "dual_conv":
            x = block(x, f"tower.{i}")
            continue
        first = block(x, f"tower.{i}.first")
        second = convolved(first, weights[f"tower.{i}.second.0.weight"])
        x = np.maximum(normed(second, f"tower.{i}.second.1") + x, 0)  # the skip before the ReLU
    policy = block(x, "policy_head.0").reshape(-1)
    logits = weights["policy_head.2.weight"] @ policy + weights["policy_head.2.bias"]
    hidden = block(x, "value_head.0").reshape(-1)
    hidden = np.maximum(weights["value_head.2.weight"] @ hidden + weights["value_head.2.bias"], 0)
    value = np.tanh(weights["value_head.4.weight"] @ hidden + weights["value_head.4.bias"])
    with torch.inference_mode():
        got_logits, got_values = network(torch.from_numpy(observation[None]))
    np.testing.assert_allclose(got_logits[0], logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got_values, value, rtol=1e-4, atol=1e-5)
