"""Muon for the kernels of convolutions, AdamW for everything else, as one optimizer.

Muon (Jordan 2024, https://kellerjordan.github.io/posts/muon/) replaces the momentum of a matrix by
the nearest matrix with equal singular values, found by five Newton-Schulz steps. torch has it only
for matrices. A kernel [out, in, k, k] is the matrix [out, in k k], as in the author's code. AdamW
handles linear layers: in residual towers they are parts of heads.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon and AdamW in one optimizer, at one rate.

    Muon's step is scaled to AdamW's usual size (`match_rms_adamw`).

    The state of each parameter is that of torch's `Muon` or `AdamW`, in one group of all
    parameters, so schedules and checkpoints see an ordinary optimizer.

    Args:
        betas: the betas of AdamW; the first is also Muon's momentum.
        weight_decay: the decay of both, apart from the gradient.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        every = list(parameters)
        super().__init__(every, {"lr": lr, "betas": betas, "weight_decay": weight_decay})
        self._matrices = {p: nn.Parameter(as_matrix(p.detach(), p)) for p in every if is_kernel(p)}
        others = [p for p in every if not is_kernel(p)]
        self._muon = self._adamw = None
        if self._matrices:
            self._muon = torch.optim.Muon(
                self._matrices.values(),
                lr=lr,
                momentum=betas[0],
                weight_decay=weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
        if others:
            self._adamw = torch.optim.AdamW(others, lr=lr, betas=betas, weight_decay=weight_decay)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of both; `closure` recomputes the gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        rate = self.param_groups[0]["lr"]
        if self._muon is not None:
            for kernel, matrix in self._matrices.items():
                matrix.grad = None
                if kernel.grad is not None:
                    matrix.data = as_matrix(kernel.detach(), kernel)
                    assert matrix.data_ptr() == kernel.data_ptr()  # no copy
                    matrix.grad = as_matrix(kernel.grad, kernel)
                    self._muon.state[matrix] = self.state[kernel]
            self._muon.param_groups[0]["lr"] = rate
            self._muon.step()  # type: ignore[no-untyped-call]
        if self._adamw is not None:
            self._adamw.state = self.state
            self._adamw.param_groups[0]["lr"] = rate
            self._adamw.step()
        return loss


def is_kernel(parameter: nn.Parameter) -> bool:
    """Whether Muon steps this parameter: the kernel of a convolution, [out, in, k, k]."""
    return parameter.ndim == 4


def as_matrix(values: Tensor, kernel: nn.Parameter) -> Tensor:
    """Values of a kernel's shape as a matrix [out, in k k], with columns in the kernel's layout.

    So the matrix of the kernel itself shares its memory. The order of columns does not matter to
    Muon.
    """
    if not kernel.is_contiguous():
        values = values.permute(0, 2, 3, 1)  # channels last
    return values.flatten(1)
