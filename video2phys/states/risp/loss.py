"""RISP's training loss: state error plus the gradient of that error by the rendering parameters.

    L = mean_j |s_j - N(I_j)|_1 / 12 + gamma mean_j || J_j^T dL_error_j / dI_j ||
J = dI/dpsi comes with the layers, so that only the network is differentiated twice, never the renderer (Ma et al. 2022, section 3.2).
The penalty alone is no loss: a constant network has none.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from video2phys.states.risp.randomise import Layers, Psi, picture, transposed_product


def error_and_penalty(network: nn.Module, layers: Layers, psi: Psi, state: Tensor, spread: Tensor) -> tuple[Tensor, Tensor]:
    """State error and rendering-gradient penalty, both scalars with gradients; `spread` (12,) scales the states."""
    image = picture(layers, psi).requires_grad_()
    each = ((network(image) - state) / spread).abs().mean(1)
    (g,) = torch.autograd.grad(each.sum(), image, create_graph=True)
    return each.mean(), transposed_product(layers, psi, g).norm(dim=1).mean()


def sensitivity(network: nn.Module, layers: Layers, psi: Psi, spread: Tensor) -> float:
    """Root mean square of d(N / spread)/dpsi, the quantity that the penalty stands for."""
    image = picture(layers, psi).requires_grad_()
    out = network(image) / spread
    total = 0.0
    for k in range(out.shape[1]):
        (g,) = torch.autograd.grad(out[:, k].sum(), image, retain_graph=True)
        total += float(transposed_product(layers, psi, g).pow(2).sum(1).mean())
    return float((total / out.shape[1]) ** 0.5)
