"""Writes adapters.json: what PEFT computes for a small network with low-rank adapters, and PyTorch for one with tied weights, to
compare the package with.

    pip install torch==2.15.0 peft==0.21.2
    python adapters.py > adapters.json

Everything is computed in float64 from weights and values that a float32 holds exactly, one example at a time. Of the adapted
network the factors and the last layer are trained. Gradients are of the loss of one example; steps are three of SGD on the mean loss of all, without
noise and clipping, with the rate 0.5. The networks are those of lora_test.go, with attention made of linear layers.
"""

import json
import sys

import peft
import torch
from torch import nn

VOCABULARY, LENGTH, WIDTH, HEADS = 7, 9, 6, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj, self.out_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        qkv = self.in_proj(x).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        return self.out_proj(nn.functional.scaled_dot_product_attention(*qkv).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.linear1, self.linear2 = Attention(), nn.Linear(WIDTH, 8), nn.Linear(8, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.self_attn(self.norm1(x))
        return x + self.linear2(nn.functional.gelu(self.linear1(self.norm2(x))))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


def ours(name):
    for old, new in {"base_model.model.": "", ".base_layer": "", ".default": "", ".modules_to_save": "",
                     "in_proj.lora": "lora", "in_proj.": "in_proj_"}.items():
        name = name.replace(old, new)
    return name


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.linear, self.out = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(VOCABULARY, 3)

    def forward(self, x):
        x = torch.tanh(self.linear(self.embedding(x)))
        return self.out((x @ self.embedding.weight.T).mean(1))


def describe(name, network, names):
    with torch.no_grad():
        for p in network.parameters():
            p.copy_((p + 0.2 * torch.randn_like(p)).float())
    every = {names(name): p for name, p in network.named_parameters() if "original_module" not in name}
    trained = {name: p for name, p in every.items() if p.requires_grad}
    rows = [torch.randint(VOCABULARY, (length,)) for length in (9, 1, 4, 8)]
    labels = torch.arange(len(rows)) % 3
    forward = lambda: torch.cat([network(r[None]) for r in rows])
    losses = nn.functional.cross_entropy(forward(), labels, reduction="none")
    gradients = [dict(zip(trained, torch.autograd.grad(loss, list(trained.values()), retain_graph=True))) for loss in losses]
    found = {
        "name": name,
        "parameters": [{"name": key, "shape": list(p.shape), "data": p.flatten().tolist(),
                        "gradients": [[float(f"{v:.9g}") for v in g[key].flatten().tolist()] for g in gradients] if key in trained else None}
                       for key, p in every.items()],
        "images": [t for r in rows for t in r.tolist() + [-1] * (LENGTH - len(r))], "labels": labels.tolist(),
        "logits": forward().flatten().tolist(), "losses": losses.tolist(),
    }
    optimizer = torch.optim.SGD(trained.values(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(), labels).backward()
        optimizer.step()
    return found | {"after": forward().flatten().tolist()}


torch.manual_seed(2)
adapted = peft.get_peft_model(
    nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), Block(), Mean(), nn.Linear(WIDTH, 3)),
    peft.LoraConfig(r=2, lora_alpha=5, target_modules=r"1\..*(proj|linear1|linear2)", modules_to_save=["3"])).double()
networks = [
    describe("adapters", adapted, ours),
    describe("tied", Tied().double(), lambda n: n.replace("embedding", "0").replace("linear", "1").replace("out", "5")),
]
json.dump({"source": f"PyTorch {torch.__version__}, PEFT {peft.__version__}, testdata/adapters.py", "networks": networks}, sys.stdout, separators=(",", ":"))
print()
