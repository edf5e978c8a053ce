"""Writes scale1.txt and scale2.txt: the features of 100 pictures, one in each line, computed with
PyTorch 2.15 in float64, by convolution and without any of the shortcuts of the Go code.

    python make_golden.py

The pictures are smoothed output of a linear congruential generator. Dictionary and whitening come
from all their patches, in order, three pixels apart."""
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
COUNT, CHANNELS, HEIGHT, WIDTH = 100, 3, 16, 14
FILTERS, CELLS = 8, 2


def pictures():
    """Means of 2×2 neighbours of random bytes, over 255, rounded to float32."""
    state, values = 1, []
    for _ in range(COUNT * CHANNELS * (HEIGHT + 1) * (WIDTH + 1)):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 24)
    x = torch.tensor(values, dtype=torch.int64).reshape(COUNT, CHANNELS, HEIGHT + 1, WIDTH + 1)
    sums = x[..., :-1, :-1] + x[..., :-1, 1:] + x[..., 1:, :-1] + x[..., 1:, 1:]
    return (sums / 1020).float().double()


def normalised(x, size, stride):
    """All patches (picture, position, value), with mean 0 and variance about 1."""
    patches = F.unfold(x, size, stride=stride).transpose(1, 2)
    patches = patches - patches.mean(2, keepdim=True)
    return patches / (patches.var(2, keepdim=True) + (10 / 255) ** 2).sqrt()


def dictionary(x, size):
    """Whitening matrix, mean, and FILTERS whitened patches of norm 1."""
    patches = normalised(x, size, 3).flatten(0, 1)
    mean, covariance = patches.mean(0), torch.cov(patches.T)
    values, vectors = torch.linalg.eigh(covariance)
    matrix = vectors @ torch.diag((values + 0.1).rsqrt()) @ vectors.T
    norms = patches.norm(dim=1)
    chosen = patches[norms > 0.5 * norms.median()][:FILTERS]
    d = (chosen - mean) @ matrix
    return matrix, mean, d / d.norm(dim=1, keepdim=True)


def pooled(z):
    """Means (filter, row, column) over the cells of a grid."""
    rows, columns = ([round(i * n / CELLS) for i in range(CELLS + 1)] for n in z.shape[-2:])
    return torch.stack([torch.stack([
        z[..., rows[i]:rows[i + 1], columns[j]:columns[j + 1]].mean((-1, -2))
        for j in range(CELLS)], -1) for i in range(CELLS)], -2)


def responses(x, size, matrix, mean, d):
    patches = (normalised(x, size, 1) - mean) @ matrix
    z = (patches @ d.T).transpose(1, 2)
    z = z.unflatten(2, (x.shape[2] - size + 1, x.shape[3] - size + 1))
    return torch.cat([pooled((z - 0.25).clamp_min(0)), pooled((-z - 0.25).clamp_min(0))], 1)


def write(name, x, size, words):
    y = (responses(x, size, *words) + responses(x.flip(-1), size, *words)) / 2
    with open(name, "w") as f:
        for row in y.flatten(1).tolist():
            f.write(" ".join(f"{v:.6g}" for v in row) + "\n")


x = pictures()
write("scale1.txt", x, 6, dictionary(x, 6))
halves = F.avg_pool2d(x, 2)
write("scale2.txt", F.pad(halves[:20], (2, 2, 2, 2), mode="reflect"), 5, dictionary(halves, 5))
