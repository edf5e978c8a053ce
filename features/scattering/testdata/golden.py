"""Writes golden.json: what PyTorch computes for filters and two pictures, to compare the package with.

    pip install torch==2.15.0 numpy
    python golden.py > golden.json

Everything is computed in float64, by the formulas of the transform and direct convolutions. The pictures
are those of draw in scattering_test.go: multiples of 1/256, which a float32 holds exactly, from a linear
congruential generator.
"""

import json
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

ANGLES = 8


def morlet(size, sigma, theta, frequency, slant):
    grid = np.arange(size) - (size - 1) / 2
    y, x = np.meshgrid(grid, grid, indexing="ij")
    u, v = x * np.cos(theta) + y * np.sin(theta), -x * np.sin(theta) + y * np.cos(theta)
    envelope = np.exp(-(u**2 + (slant * v) ** 2) / (2 * sigma**2))
    wave = envelope * np.exp(1j * frequency * u)
    wave -= wave.sum() / envelope.sum() * envelope
    return wave / (2 * math.pi * sigma**2 / slant)


def gaussian(size, sigma):
    g = np.exp(-((np.arange(size) - (size - 1) / 2) ** 2) / (2 * sigma**2))
    g = np.outer(g, g)
    return g / g.sum()


def wavelets(size, sigma, frequency):
    return [morlet(size, sigma, t * math.pi / ANGLES, frequency, 4 / ANGLES) for t in range(ANGLES)]


FINE = wavelets(11, 0.8, 3 * math.pi / 4)
COARSE = wavelets(20, 1.6, 3 * math.pi / 8)


def convolve(x, filters, margin, stride):
    """The convolution of every plane of x with every filter: (planes·filters, height, width)."""
    weights = torch.tensor(np.stack(filters))[:, None]
    y = F.conv2d(F.pad(x[:, None], (margin,) * 4, mode="reflect"), weights, stride=stride)
    return y.flatten(0, 1)


def modulus(x, filters, margin, stride):
    re = convolve(x, [f.real for f in filters], margin, stride)
    im = convolve(x, [f.imag for f in filters], margin, stride)
    return (re**2 + im**2 + 1e-12).sqrt()


def scatter(x):
    """One channel, (height, width), to (81, height/4, width/4)."""
    u = torch.cat([x[None], modulus(x[None], FINE, 5, 1)])
    v = modulus(u, COARSE, 9, 2)
    return torch.cat([convolve(u, [gaussian(16, 1.6)], 6, 4), convolve(v, [gaussian(8, 0.8)], 3, 2)])


def group_norm(s, groups):
    z = s.reshape(groups, -1)
    z = (z - z.mean(1, keepdim=True)) / (z.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return z.reshape(s.shape)


def draw(channels, height, width, seed):
    state, values = seed, []
    for _ in range(channels * height * width):
        state = (1664525 * state + 1013904223) % 2**32
        values.append((state >> 24) / 256)
    return torch.tensor(values, dtype=torch.float64).reshape(channels, height, width)


def plain(values):
    return [float(f"{v:.7g}") for v in np.asarray(values).reshape(-1)]


def parts(filter):
    return {"re": plain(filter.real), "im": plain(filter.imag)}


def picture(channels, height, width, seed):
    s = torch.cat([scatter(c) for c in draw(channels, height, width, seed)])
    normalised = plain(group_norm(s, 27 * channels)) if channels > 1 else None
    return {
        "channels": channels,
        "height": height,
        "width": width,
        "seed": seed,
        "transform": plain(s),
        "normalised": normalised,
    }


json.dump(
    {
        "fine": {t: parts(FINE[t]) for t in (1, 6)},
        "coarse": {t: parts(COARSE[t]) for t in (1, 6)},
        "window": plain(gaussian(16, 1.6)),
        "pictures": [picture(1, 28, 28, 1), picture(2, 12, 16, 2)],
    },
    sys.stdout,
    separators=(",", ":"),
)
