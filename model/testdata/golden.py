"""Writes golden.json: what PyTorch computes for small networks, to compare the package with.

    pip install torch==2.15.0
    python golden.py > golden.json

Everything is computed in float64 from weights and pixels that a float32 holds exactly. Gradients are of the loss of
one example at a time. The networks are those of golden_test.go, in the same order.
"""

import json
import sys

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class StandardisedConv2d(nn.Conv2d):
    def forward(self, x):
        centred = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        norm = (centred.square().sum((1, 2, 3), keepdim=True) + 1e-4).sqrt()
        return nn.functional.conv2d(x, centred / norm, self.bias, self.stride, self.padding, self.dilation, self.groups)


class TemperedSigmoid(nn.Module):
    def __init__(self, scale, inverse_temperature, offset):
        super().__init__()
        self.s, self.t, self.o = scale, inverse_temperature, offset

    def forward(self, x):
        return self.s * torch.sigmoid(self.t * x) - self.o


torch.manual_seed(1)

NETWORKS = {
    "convolutional": nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1),  # 9x8 -> 5x4
        nn.GroupNorm(2, 4),
        nn.SiLU(),
        nn.MaxPool2d(3, stride=2, padding=1),  # -> 3x2
        Residual(
            nn.Sequential(nn.Conv2d(4, 3, 3, padding=1), nn.GELU()),
            nn.Sequential(nn.Conv2d(4, 3, 1, bias=False)),
        ),
        nn.AvgPool2d(2, stride=1),  # -> 2x1
        nn.LayerNorm([3, 2, 1]),
        nn.Flatten(),
        nn.Linear(6, 3),
    ),
    "pools and vectors": nn.Sequential(
        nn.AvgPool2d(3, stride=2, padding=1),  # 9x8 -> 5x4
        nn.Conv2d(2, 5, 2, stride=1, padding=0, bias=False),  # -> 4x3
        nn.ReLU(),
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.LayerNorm(5),
        nn.Linear(5, 6),
        nn.Tanh(),
        Residual(nn.Sequential(nn.Linear(6, 6), nn.Sigmoid()), nn.Identity()),
        nn.Linear(6, 3),
    ),
}


def describe(network, n=3):
    network.double().eval()
    parameters = {name: p for name, p in network.named_parameters() if p.requires_grad}
    constants = {name: p for name, p in network.state_dict().items() if name not in parameters and p.is_floating_point()}
    with torch.no_grad():
        for p in [*parameters.values(), *constants.values()]:
            p.copy_((p + 0.3 * torch.randn_like(p)).abs().float() if p.min() == 1 else (p + 0.3 * torch.randn_like(p)).float())
    images = torch.randn(n, 2, 9, 8).double()
    labels = torch.arange(n) % 3
    logits = network(images)
    losses = nn.functional.cross_entropy(logits, labels, reduction="none")
    gradients = [torch.autograd.grad(loss, list(parameters.values()), retain_graph=True) for loss in losses]
    return {
        "parameters": [
            {
                "name": name,
                "shape": list(p.shape),
                "data": p.flatten().tolist(),
                "gradients": [[float(f"{v:.9g}") for v in g[i].flatten().tolist()] for g in gradients],
            }
            for i, (name, p) in enumerate(parameters.items())
        ] + [{"name": name, "shape": list(p.shape), "data": p.flatten().tolist()} for name, p in constants.items()],
        "images": images.flatten().tolist(),  # (n, channels, height, width)
        "labels": labels.tolist(),
        "logits": logits.flatten().tolist(),
        "losses": losses.tolist(),
    }


result = {"source": f"PyTorch {torch.__version__}, testdata/golden.py"}
result["networks"] = [{"name": name} | describe(network) for name, network in NETWORKS.items()]

# Later ones are made after those before are drawn, which so stay the same.
torch.manual_seed(2)
LATER = {
    "standardised and tempered": nn.Sequential(
        StandardisedConv2d(2, 4, 3, stride=2, padding=1),  # 9x8 -> 5x4
        nn.GroupNorm(2, 4),
        TemperedSigmoid(1.8, 3, 0.7),
        StandardisedConv2d(4, 3, 2, bias=False),  # -> 4x3
        TemperedSigmoid(2, 2, 1),
        nn.Flatten(),
        nn.Linear(36, 3),
    ),
}
result["networks"] += [{"name": name} | describe(network) for name, network in LATER.items()]

torch.manual_seed(3)
LATEST = {
    "dilated, grouped and rectangular": nn.Sequential(
        nn.Conv2d(2, 6, (3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 3)),  # 9x8 -> 9x4
        nn.SiLU(),
        nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 1)),  # -> 5x5
        nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False),
        StandardisedConv2d(6, 4, (1, 2), dilation=2, groups=2),  # -> 5x3
        nn.Tanh(),
        nn.AvgPool2d((2, 3), stride=(2, 1), padding=1),  # -> 3x3
        nn.AvgPool2d(2, stride=1, padding=1, count_include_pad=False),  # -> 4x4
        nn.Flatten(),
        nn.Linear(64, 3),
    ),
}
result["networks"] += [{"name": name} | describe(network) for name, network in LATEST.items()]


def frozen(channels, **how):
    """Batch normalisation whose statistics are constants, as are its weight and bias."""
    return nn.BatchNorm2d(channels, **how).requires_grad_(False)


torch.manual_seed(4)
FROZEN = {
    "frozen statistics": nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False),  # 9x8 -> 5x4
        frozen(4),
        nn.ReLU(),
        Residual(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), frozen(4, eps=1e-2)), nn.Identity()),
        nn.LayerNorm([4, 5, 4], eps=1e-2),
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(4, 3),
    ),
}
result["networks"] += [{"name": name} | describe(network) for name, network in FROZEN.items()]
json.dump(result, sys.stdout, separators=(",", ":"))
print()
