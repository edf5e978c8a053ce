"""Prints what PyTorch computes with ../encoder.bin: python make_golden.py > golden.txt (torch 2.15.0).

A line for each picture: its channels, height and width, then the averaged maps. The bytes of pictures are those of a linear
congruential generator, one after the other, (channel, row, column).
"""
import pathlib

import numpy
import torch
import torch.nn.functional as F

WEIGHTS = numpy.fromfile(pathlib.Path(__file__).parent.parent / "encoder.bin", dtype="<f2").astype("f4")
at, state = 0, 1


def take(*shape):
    global at
    n = int(numpy.prod(shape))
    at += n
    return torch.from_numpy(WEIGHTS[at - n : at].reshape(shape))


def conv(out, kernel, into):
    return take(out, kernel, kernel, into).permute(0, 3, 1, 2), take(out)


def picture(channels, height, width):
    global state
    values = []
    for _ in range(channels * height * width):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 24) / 255)
    return torch.tensor(values).reshape(1, channels, height, width)


stem = conv(64, 5, 3)
blocks = [(conv(64, 3, 64), conv(64, 3, 64), None)]
for into, out in ((64, 128), (128, 256)):
    blocks.append((conv(out, 3, into), conv(out, 3, out), conv(out, 1, into)))
assert at == len(WEIGHTS)


def maps(x):
    x = F.conv2d(x, *stem, stride=2, padding=2).relu()
    for a, b, s in blocks:
        stride = 2 if s else 1
        y = F.conv2d(F.conv2d(x, *a, stride=stride, padding=1).relu(), *b, padding=1)
        x = (y + (F.conv2d(x, *s, stride=stride) if s else x)).relu()
        yield x


for shape in ((3, 32, 32), (1, 28, 28), (3, 64, 96)):
    x = picture(*shape).expand(-1, 3, -1, -1)
    if max(shape) > 63:
        x = F.avg_pool2d(x, 2)
    h, w = x.shape[2:]
    x = F.pad(x, ((-w % 8) // 2, (-w % 8) // 2, (-h % 8) // 2, (-h % 8) // 2))
    sums = [sum(F.adaptive_avg_pool2d(m, 2) for m in both) / 2 for both in list(zip(maps(4 * x - 2), maps(4 * x.flip(3) - 2)))[1:]]
    print(*shape, *(f"{v:.6g}" for v in torch.cat([s.flatten() for s in sums]).tolist()))
