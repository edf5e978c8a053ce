"""Learns what package encoder ships from pictures that this program draws: nobody's data.

  python learn_encoder.py OUT [STEPS]

writes OUT/encoder.bin and OUT/dictionary.bin, in half precision. It needs PyTorch and a GPU: no command of the trainer, because two
processor cores would need weeks. The files here are of 22,635 steps, 344 s on an H100 with torch 2.11.0+cu130, seed 1; a GPU adds up in
no fixed order, so another run learns other weights. On a processor it draws and learns a little, to show that it runs.

Pictures: random convolutions with styles (an untrained generator: Baradad et al., "Learning to See by Looking at Noise", NeurIPS
2021), random programs over coordinates (Baradad et al., "Procedural Image Programs for Representation Learning", NeurIPS 2022) and
coloured noise, with dead leaves over them that are filled with colours, gratings and these textures. The loss is NT-Xent of two views
of a picture (Chen et al., "A Simple Framework for Contrastive Learning of Visual Representations", ICML 2020); half of the pictures
have another one mixed in.
"""
import math
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

CANVAS, SIDE = 48, 32  # sides of a drawn picture, and of what the network sees of it


def uniform(lo, hi, *shape, device):
    return torch.rand(*shape, device=device) * (hi - lo) + lo


def standard(x, dims):
    return (x - x.mean(dims, keepdim=True)) / (x.std(dims, keepdim=True) + 1e-4)


def pink(n, channels, side, device):
    """Noise whose amplitude falls with a random power of the frequency."""
    f = torch.fft.rfft2(torch.randn(n, channels, side, side, device=device))
    ky, kx = torch.fft.fftfreq(side, device=device)[:, None], torch.fft.rfftfreq(side, device=device)[None]
    k = (ky**2 + kx**2).sqrt().clamp_min(1 / side)
    return standard(torch.fft.irfft2(f * k ** -uniform(.9, 2.4, n, 1, 1, 1, device=device), s=(side, side)), (2, 3))


def coloured(x):
    """Gives pictures of any three channels colours, mostly greyish, and values about 0 to 1."""
    n, device = len(x), x.device
    mix = torch.randn(n, 3, 3, device=device) * .35 + torch.randn(n, 1, 3, device=device)  # what channels share is more
    x = standard(torch.einsum('nij,njhw->nihw', mix, standard(x, (2, 3))), (1, 2, 3))
    contrast = uniform(.08, .32, n, 1, 1, 1, device=device)
    base = uniform(.2, .8, n, 1, 1, 1, device=device) + .12 * torch.randn(n, 3, 1, 1, device=device)
    return (base + contrast * x).clamp(0, 1)


def generated(generators, each, device, c=24):
    """Pictures of untrained generators: so many of each, the convolutions random, the styles of a picture its own."""
    g, side = generators, 6
    x = torch.randn(each, g * c, side, side, device=device)
    style = torch.randn(each, g, 16, device=device)
    out = 0
    for level in range(4):  # 6, 12, 24, 48
        if level:
            x = F.interpolate(x, scale_factor=2, mode='bilinear')
            side *= 2
        strength = torch.rand(1, g, 1, device=device).mul((.8, .5, .25, .1)[level]).repeat_interleave(c, 1)[..., None]
        for oriented in (False, True):
            scale = 1 + .8 * torch.einsum('egk,gkc->egc', style, torch.randn(g, 16, c, device=device) / 4)
            x = x * scale.reshape(each, g * c, 1, 1)
            if oriented and level:  # wavelets along each channel, then a random mixture
                x = F.conv2d(x, wavelets(g * c, 7, device), padding=3, groups=g * c)
                weight = torch.randn(g * c, c, 1, 1, device=device)
            else:
                weight = torch.randn(g * c, c, 3, 3, device=device)
            x = F.conv2d(x, weight, padding=weight.shape[-1] // 2, groups=g)
            x = x + strength * x.std() * torch.randn(each, 1, side, side, device=device)
            x = x.reshape(each, g, c, side, side)
            x = x / (x.square().mean((2, 3, 4), keepdim=True).sqrt() + 1e-4)
            bias = torch.randn(1, g, c, 1, 1, device=device) * (torch.rand(1, g, c, 1, 1, device=device) < .4)
            x = F.leaky_relu(x + .5 * bias, .2).reshape(each, g * c, side, side)
        rgb = F.conv2d(x, torch.randn(g * 3, c, 1, 1, device=device), groups=g)
        share = uniform(.2, 1, 1, g, 1, device=device).repeat_interleave(3, 1)[..., None]
        out = share * standard(rgb, (2, 3)) + (F.interpolate(out, scale_factor=2, mode='bilinear') if level else 0)
    return coloured(out.reshape(each * g, 3, side, side))


def wavelets(n, size, device):
    t = torch.arange(size, device=device) - size // 2
    yy, xx = torch.meshgrid(t.float(), t.float(), indexing='ij')
    a, f, s, p = (uniform(lo, hi, n, 1, 1, device=device) for lo, hi in ((0, math.pi), (.3, 2.2), (.8, 2.4), (0, 2 * math.pi)))
    u = xx * a.cos() + yy * a.sin()
    w = torch.exp(-(xx**2 + yy**2) / (2 * s * s)) * torch.cos(f * u + p)
    return (w / w.square().sum((1, 2), keepdim=True).sqrt())[:, None]


def programs(n, device, hidden=16):
    """Pictures of random programs over coordinates, radius and noise."""
    t = torch.linspace(-1, 1, CANVAS, device=device)
    yy, xx = torch.meshgrid(t, t, indexing='ij')
    angle, zoom = uniform(0, 2 * math.pi, n, 1, 1, device=device), torch.exp(uniform(-.7, 1.2, n, 1, 1, device=device))
    dx, dy = (uniform(-.6, .6, n, 1, 1, device=device) for _ in range(2))
    u, v = xx - dx, yy - dy
    u, v = zoom * (u * angle.cos() + v * angle.sin()), zoom * (v * angle.cos() - u * angle.sin())
    u = torch.where(torch.rand(n, 1, 1, device=device) < .3, u.abs(), u)  # some are symmetric
    noise = pink(n, 3, CANVAS, device) * uniform(0, .6, n, 3, 1, 1, device=device)
    x = torch.stack([u, v, (u * u + v * v).sqrt(), torch.ones_like(u)], 1)
    x = torch.cat([x, noise], 1).flatten(2)  # (n, 7, places)
    for layer in range(4):
        w = torch.randn(n, hidden, x.shape[1], device=device) * uniform(.5, 2.2, n, 1, 1, device=device) / math.sqrt(x.shape[1] / 4)
        x = torch.bmm(w, x) + torch.randn(n, hidden, 1, device=device)
        a, b, c, d = x.split(hidden // 4, 1)
        x = torch.cat([torch.sin(1.5 * a), torch.tanh(2 * b), 1 - c.abs().clamp_max(2), torch.exp(-d * d)], 1)
        x = x[:, torch.randperm(hidden, device=device)]
    return coloured(torch.bmm(torch.randn(n, 3, hidden, device=device), x).reshape(n, 3, CANVAS, CANVAS))


def composed(textures, leaves):
    """Dead leaves over the textures, filled with colours, gratings and shades or with other textures."""
    n, _, s, _ = textures.shape
    device = textures.device
    yy, xx = torch.meshgrid(torch.arange(s, device=device).float(), torch.arange(s, device=device).float(), indexing='ij')
    picture = textures.clone()
    r = lambda lo=0., hi=1.: uniform(lo, hi, n, 1, 1, device=device)
    count = r() ** 2 * leaves
    for leaf in range(leaves):
        radius = 3 * (s / 1.8 / 3) ** (r() ** 1.5)
        angle, aspect = r(0, 2 * math.pi), r(.35, 1)
        x, y = xx - r(0, s), yy - r(0, s)
        u, v = x * angle.cos() + y * angle.sin(), (y * angle.cos() - x * angle.sin()) / aspect
        theta, distance = torch.atan2(v, u), (u * u + v * v).sqrt()
        outline = 1.
        for k in (2, 3, 4, 5):  # a blob
            outline = outline + r(0, .5 / k) * torch.cos(k * theta + r(0, 2 * math.pi))
        corners = torch.floor(r(3, 6))
        sector = 2 * math.pi / corners
        polygon = (math.pi / corners).cos() / torch.cos(torch.remainder(theta, sector) - sector / 2)
        kind = r()
        edge = torch.where(kind < .3, torch.ones_like(theta), torch.where(kind < .65, outline, polygon)) * radius
        mask = ((edge - distance) * 1.5 + .5).clamp(0, 1) * (count > leaf)
        colour = (r()[:, None] + .22 * torch.randn(n, 3, 1, 1, device=device)).clamp(0, 1)
        wave = torch.sin(r(.15, 1.4) * u + r(0, 6.3)) * r(0, .35) * (r() < .4) + r(-.5, .5) * u / s
        filling = colour + wave[:, None]
        filling = torch.where(r()[:, None] < .5, textures[torch.randperm(n, device=device)] * r(.6, 1.2)[:, None], filling)
        picture = picture + mask[:, None] * (filling - picture)
    return (picture + r(0, .04)[:, None] * torch.randn_like(picture)).clamp(0, 1)


def draw(n, device):
    """n pictures, (n, 3, CANVAS, CANVAS), bytes."""
    noise = coloured(pink(n // 4, 3, CANVAS, device))
    textures = torch.cat([generated(n // 32, 16, device), programs(n // 4, device), noise])
    return (composed(textures[torch.randperm(n, device=device)], 24) * 255).round().to(torch.uint8)


def view(x):
    """A random crop of every picture, its colours changed, blurred and cut out at random."""
    n, device = len(x), x.device
    r = lambda lo=0., hi=1.: uniform(lo, hi, n, device=device)
    side = uniform(.2, 1, n, device=device).sqrt()
    aspect = torch.exp(r(-.28, .28))
    w, h = (side * aspect).clamp_max(1), (side / aspect).clamp_max(1)
    angle = r(-.2, .2)
    flip = torch.where(r() < .5, 1., -1.)
    cx, cy = (1 - w) * r(-1, 1), (1 - h) * r(-1, 1)
    affine = torch.stack([torch.stack([w * flip * angle.cos(), -h * angle.sin(), cx], 1),
                          torch.stack([w * flip * angle.sin(), h * angle.cos(), cy], 1)], 1)
    x = F.grid_sample(x, F.affine_grid(affine, (n, 3, SIDE, SIDE), align_corners=False), padding_mode='reflection', align_corners=False)
    # Blur of some.
    s = torch.where(r() < .3, r(.4, 1.3), torch.full((n,), .05, device=device))
    k = torch.exp(-torch.arange(-2, 3, device=device)[None] ** 2 / (2 * s[:, None] ** 2))
    k = (k / k.sum(1, keepdim=True)).repeat_interleave(3, 0)
    y = F.pad(x, (2, 2, 2, 2), mode='reflect').reshape(1, n * 3, SIDE + 4, SIDE + 4)
    y = F.conv2d(F.conv2d(y, k[:, None, None, :], groups=n * 3), k[:, None, :, None], groups=n * 3)
    x = y.reshape(n, 3, SIDE, SIDE)
    # Colours: a rotation about grey, saturation, contrast, brightness.
    some = (r() < .8).float()
    hue, sat = some * r(-.6, .6), torch.where(r() < .2, torch.zeros(n, device=device), 1 + some * r(-.4, .4))
    axis = torch.full((3, 3), 1 / 3, device=device)
    cross = torch.tensor([[0., -1, 1], [1, 0, -1], [-1, 1, 0]], device=device) / math.sqrt(3)
    turn = sat[:, None, None] * (hue.cos()[:, None, None] * (torch.eye(3, device=device) - axis) + hue.sin()[:, None, None] * cross) + axis
    x = torch.einsum('nij,njhw->nihw', turn, x)
    middle = x.mean((1, 2, 3), keepdim=True)
    x = (x - middle) * torch.exp(some * r(-.5, .5))[:, None, None, None] + middle * torch.exp(some * r(-.4, .4))[:, None, None, None]
    # A hole in some.
    t = torch.arange(SIDE, device=device)
    px, py, half = r(0, SIDE), r(0, SIDE), torch.where(r() < .4, r(4, 7), torch.zeros(n, device=device))
    hole = ((t[None, None] - px[:, None, None]).abs() < half[:, None, None]) & ((t[None, :, None] - py[:, None, None]).abs() < half[:, None, None])
    return torch.where(hole[:, None], middle, x).clamp(0, 1)


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.a, self.an = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.b, self.bn = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.s, self.sn = (nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout)) if stride > 1 or cin != cout else (None, None)

    def forward(self, x):
        y = self.bn(self.b(F.relu(self.an(self.a(x)))))
        return F.relu(y + (x if self.s is None else self.sn(self.s(x))))


class Encoder(nn.Module):
    """Maps (n, 3, h, w), values about -2 to 2, to the maps of its stages."""

    def __init__(self, widths=(64, 128, 256)):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, widths[0], 5, 2, 2, bias=False), nn.BatchNorm2d(widths[0])
        ins = (widths[0],) + widths
        self.stages = nn.ModuleList(nn.Sequential(Block(ins[i], w, 2 if i else 1)) for i, w in enumerate(widths))

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return maps

    def folded(self):
        """Weights (out, row, column, in) and bias of every convolution, with its normalisation, in the order of the files."""
        pairs = [(self.stem, self.norm)]
        for (block,) in self.stages:
            pairs += [(block.a, block.an), (block.b, block.bn)] + ([(block.s, block.sn)] if block.s else [])
        for conv, norm in pairs:
            gain = norm.weight / (norm.running_var + norm.eps).sqrt()
            yield (conv.weight * gain[:, None, None, None]).permute(0, 2, 3, 1)
            yield norm.bias - norm.running_mean * gain


def seen(x):
    """What the network sees of pictures with values from 0 to 1."""
    return (x - .5) * 4


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.project = nn.Sequential(nn.Linear(256, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 128))

    def forward(self, x):
        return F.normalize(self.project(self.encoder(x)[-1].mean((2, 3))).float(), dim=1)


def nt_xent(z, temperature):
    n = len(z) // 2
    logits = (z @ z.T / temperature).fill_diagonal_(-1e4)
    return F.cross_entropy(logits, torch.arange(2 * n, device=z.device).roll(n))


def learn(pool, steps, batch=2048, rate=3e-3):
    device = pool.device
    net = Learner().to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-4, fused=device.type == 'cuda')
    begin = time.time()
    for step in range(steps):
        for group in optimiser.param_groups:
            group['lr'] = rate * min(1, (step + 1) / 200) * (.5 + .5 * math.cos(math.pi * step / steps))
        with torch.no_grad():
            x = pool[torch.randint(len(pool), (batch,), device=device)].float().div_(255)
            share = .5 * torch.rand(batch, 1, 1, 1, device=device) * (torch.rand(batch, 1, 1, 1, device=device) < .5)
            x = x + share * (x.roll(1, 0) - x)
            x = seen(torch.cat([view(x), view(x)])).contiguous(memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16):
            z = net(x)
        loss = nt_xent(z, .1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if step % 1000 == 0:
            print(f'step {step}, {time.time() - begin:.0f} s, loss {loss.item():.3f}', flush=True)
    return net.encoder.eval()


def dictionary(pictures, filters=1536, size=6):
    """Whitened patches of pictures (n, 3, h, w) from 0 to 1: weights (filters, 3, size, size) and biases, as package features makes them."""
    torch.manual_seed(1)
    patches = torch.cat([F.unfold(p, size, stride=3).permute(0, 2, 1).flatten(0, 1) for p in pictures.split(400)])
    patches = patches[torch.randperm(len(patches))[:120_000].to(patches.device)]
    patches = patches - patches.mean(1, keepdim=True)
    patches = patches / (patches.var(1, keepdim=True) + (10 / 255) ** 2).sqrt()
    mean = patches.mean(0)
    values, vectors = torch.linalg.eigh(torch.cov(patches.T).double())
    whitening = (vectors @ torch.diag((values.clamp_min(0) + .1).rsqrt()) @ vectors.T).float()
    norms = patches.norm(dim=1)
    chosen = (patches[norms > .5 * norms.median()][:filters] - mean) @ whitening
    weights = F.normalize(chosen, dim=1) @ whitening
    return weights - weights.mean(1, keepdim=True), weights @ mean


def write(path, tensors):
    with open(path, 'wb') as f:
        for tensor in tensors:
            f.write(tensor.detach().half().cpu().contiguous().numpy().astype('<f2').tobytes())


if __name__ == '__main__':
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    on_gpu = torch.cuda.is_available()
    device = torch.device('cuda' if on_gpu else 'cpu')
    batch, batches = (4096, 196) if on_gpu else (64, 6)
    pool = torch.cat([draw(batch, device) for _ in range(batches)])
    margin = (CANVAS - SIDE) // 2
    inside = pool[:2400, :, margin:-margin, margin:-margin].float().div(255)
    write(sys.argv[1] + '/dictionary.bin', dictionary(inside, 1536 if on_gpu else 64))
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 22_635
    write(sys.argv[1] + '/encoder.bin', learn(pool, steps, 2048 if on_gpu else 32).folded())
