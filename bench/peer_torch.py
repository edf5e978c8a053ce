"""Steps of PyTorch, without privacy, and of Opacus."""

import torch
from torch import nn

from networks import CLASSES, NETWORKS

RATE = 1e-6  # so small that the network stays the same while it is measured


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class PatchEmbedding(nn.Conv2d):
    def forward(self, x):
        return super().forward(x).flatten(2).transpose(1, 2)


class MeanOverSequence(nn.Module):
    def forward(self, x):
        return x.mean(1)


class LastOutput(nn.Module):
    """An LSTM, and its output at the last position."""

    def __init__(self, kind, size, hidden):
        super().__init__()
        self.lstm = kind(size, hidden, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


class OpacusBlock(nn.Module):
    """nn.TransformerEncoderLayer of layers that Opacus knows."""

    def __init__(self, width, heads, feedforward):
        from opacus.layers import DPMultiheadAttention

        super().__init__()
        self.attention = DPMultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, feedforward), nn.Linear(feedforward, width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x))))


def sequential(layers, shape, private=False):
    """The modules of layers and the shape of one example behind them, for an input of the given shape."""
    modules = []
    for kind, arguments in layers:
        module = build(kind, arguments, shape, private)
        shape = module(torch.zeros(1, *shape)).shape[1:]
        modules.append(module)
    return nn.Sequential(*modules)


def build(kind, a, shape, private):
    match kind:
        case "conv2d":
            return nn.Conv2d(shape[0], a["out"], a["kernel"], a["stride"], a["padding"], bias=a["bias"])
        case "linear":
            return nn.Linear(shape[0], a["out"])
        case "max_pool2d":
            return nn.MaxPool2d(a["kernel"], a["stride"])
        case "avg_pool2d":
            return nn.AvgPool2d(a["kernel"], a["stride"])
        case "global_avg_pool2d":
            return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        case "group_norm":
            return nn.GroupNorm(a["groups"], shape[0])
        case "patch_embedding":
            return PatchEmbedding(shape[0], a["out"], a["patch"], stride=a["patch"])
        case "mean_over_sequence":
            return MeanOverSequence()
        case "transformer_encoder" if private:
            return OpacusBlock(shape[-1], a["heads"], a["feedforward"])
        case "transformer_encoder":
            return nn.TransformerEncoderLayer(shape[-1], a["heads"], a["feedforward"], dropout=0.0, batch_first=True)
        case "lstm":
            if private:
                from opacus.layers import DPLSTM as kind
            else:
                kind = nn.LSTM
            return LastOutput(kind, shape[-1], a["hidden"])
        case "flatten":
            return nn.Flatten()
        case "relu":
            return nn.ReLU()
        case "tanh":
            return nn.Tanh()
        case "residual":
            return Residual(sequential(a["body"], shape, private), sequential(a["shortcut"], shape, private))
    raise ValueError(f"no layer {kind}")


def prepare(network, batch, threads, variant):
    """A function that makes one step, and the number of parameters.

    variant is default or channels-last for plain training, or the grad_sample_mode of a private step of Opacus with or
    without -channels-last behind it.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    layers, shape, _ = NETWORKS[network]
    mode, last = variant.removesuffix("channels-last").rstrip("-"), variant.endswith("channels-last")
    model = sequential(layers, shape, mode not in ("", "default"))
    # All pictures are in memory; a batch is a view of some of them, which costs nothing.
    batches = max(1, 4096 // batch)
    pictures, labels = torch.rand(batches * batch, *shape), torch.randint(CLASSES, (batches * batch,))
    if last:
        model, pictures = model.to(memory_format=torch.channels_last), pictures.to(memory_format=torch.channels_last)
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=RATE), nn.CrossEntropyLoss()
    parameters = sum(p.numel() for p in model.parameters())
    if mode not in ("", "default"):
        model, optimizer, criterion = private(model, optimizer, criterion, pictures, labels, batch, mode)
    model.train()
    at = 0

    def step():
        nonlocal at
        x, y = pictures[at : at + batch], labels[at : at + batch]
        at = (at + batch) % len(pictures)
        optimizer.zero_grad(set_to_none=True)
        criterion(model(x), y).backward()
        optimizer.step()

    return step, parameters


def private(model, optimizer, criterion, pictures, labels, batch, mode):
    """Opacus around all three. Batches of a fixed size are for timing alone: its accounting is for Poisson sampling."""
    from opacus import PrivacyEngine

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(pictures, labels), batch_size=batch)
    made = PrivacyEngine(accountant="rdp").make_private(
        module=model, optimizer=optimizer, criterion=criterion, data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False, grad_sample_mode=mode,
    )
    if mode == "ghost":
        model, optimizer, criterion, _ = made
    else:
        model, optimizer, _ = made
    return model, optimizer, criterion


def versions():
    found = {"torch": torch.__version__}
    try:
        import opacus

        found["opacus"] = opacus.__version__
    except ImportError:
        pass
    return found
