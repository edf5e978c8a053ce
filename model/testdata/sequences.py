"""Writes sequences.json: what PyTorch computes for small networks of sequences, to compare the package with.

    pip install torch==2.15.0
    python sequences.py > sequences.json

Everything is computed in float64 from weights and values that a float32 holds exactly, one example at a time, so that
there is no padding. Gradients are of the loss of one example; steps are three of SGD on the mean loss of all, without noise
and clipping, with the rate 0.5. The networks are those of golden_sequences_test.go, in the same order.
"""

import json
import sys

import torch
from torch import nn

VOCABULARY, LENGTH = 7, 9


class Positions(nn.Module):
    def __init__(self, positions, width):
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(positions, width))

    def forward(self, x):
        return x + self.weight[: x.shape[1]]


class Waves(nn.Module):
    def forward(self, x):
        t, j = torch.arange(x.shape[1]).double()[:, None], torch.arange(x.shape[2])
        angles = t / 10000.0 ** (j // 2 * 2 / x.shape[2])
        return x + torch.where(j % 2 == 0, angles.sin(), angles.cos())


class ClassToken(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.token = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), 1, -1), x], 1)


class Block(nn.TransformerEncoderLayer):
    def __init__(self, *sizes, causal=False, **how):
        super().__init__(*sizes, dropout=0.0, batch_first=True, **how)
        self.causal = causal

    def forward(self, x):
        return super().forward(x, nn.Transformer.generate_square_subsequent_mask(x.shape[1]).to(x) if self.causal else None)


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


class Patches(nn.Conv2d):
    def forward(self, x):
        return super().forward(x).flatten(2).transpose(1, 2)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Outputs(nn.Module):
    """What a recurrent layer gives for every position, or where its passes end; its names are those of the layer alone."""

    def __new__(cls, kind, size, hidden, bidirectional, last):
        def forward(self, x, call=kind.forward):
            y, end = call(self, x)
            end = end[0] if isinstance(end, tuple) else end
            return end.transpose(0, 1).flatten(1) if last else y

        return type("Outputs", (kind,), {"forward": forward})(size, hidden, batch_first=True, bidirectional=bidirectional)


def mean():
    return Call(lambda x: x.mean(1))


torch.manual_seed(1)
NETWORKS = {
    "transformers": nn.Sequential(
        nn.Embedding(VOCABULARY, 6), Positions(LENGTH, 6), Block(6, 2, 8, norm_first=True, activation="gelu"),
        Block(6, 3, 5, causal=True), mean(), nn.Linear(6, 3)),
    "lstm": nn.Sequential(nn.Embedding(VOCABULARY, 4), Outputs(nn.LSTM, 4, 3, True, False), Outputs(nn.LSTM, 6, 4, False, True), nn.Linear(4, 3)),
    "gru": nn.Sequential(nn.Embedding(VOCABULARY, 4), Outputs(nn.GRU, 4, 3, False, False), Outputs(nn.GRU, 3, 2, True, True), nn.Linear(4, 3)),
    "patches": nn.Sequential(
        Patches(2, 6, 4, stride=4), ClassToken(6), Waves(), Attention(6, 2, batch_first=True), nn.ELU(0.7), nn.Linear(6, 5), nn.LeakyReLU(0.1),
        nn.LayerNorm(5), Call(lambda x: x[:, 0]), nn.Linear(5, 3)),
}


def describe(name, network, n=4):
    network.double().train()
    parameters = dict(network.named_parameters())
    with torch.no_grad():
        for p in parameters.values():
            p.copy_((p + 0.2 * torch.randn_like(p)).float())
    if name == "patches":
        rows = [torch.randn(2, 8, 8).float() for _ in range(n)]
        inputs, written = [r.double()[None] for r in rows], torch.stack([r.permute(1, 2, 0) for r in rows]).flatten().tolist()
    else:
        rows = [torch.randint(VOCABULARY, (length,)) for length in (9, 1, 4, 8)]
        inputs, written = [r[None] for r in rows], [t for r in rows for t in r.tolist() + [-1] * (LENGTH - len(r))]
    labels = torch.arange(n) % 3
    forward = lambda: torch.cat([network(x) for x in inputs])
    losses = nn.functional.cross_entropy(forward(), labels, reduction="none")
    gradients = [torch.autograd.grad(loss, list(parameters.values()), retain_graph=True) for loss in losses]
    found = {
        "parameters": [{"name": key, "shape": list(p.shape), "data": p.flatten().tolist(),
                        "gradients": [[float(f"{v:.9g}") for v in g[i].flatten().tolist()] for g in gradients]}
                       for i, (key, p) in enumerate(parameters.items())],
        "images": written, "labels": labels.tolist(), "logits": forward().flatten().tolist(), "losses": losses.tolist(),
    }
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(), labels).backward()
        optimizer.step()
    return found | {"after": forward().flatten().tolist()}


result = {"source": f"PyTorch {torch.__version__}, testdata/sequences.py"}
result["networks"] = [{"name": name} | describe(name, network) for name, network in NETWORKS.items()]
json.dump(result, sys.stdout, separators=(",", ":"))
print()
