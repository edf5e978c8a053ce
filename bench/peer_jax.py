"""Private steps of JAX Privacy, compiled as a whole."""

import importlib.metadata
import os

import jax
import jax.numpy as jnp
import jax_privacy
from jax_privacy import noise_addition

from networks import CLASSES, NETWORKS

RATE = 1e-6  # so small that the network stays the same while it is measured

LAYOUT = ("NHWC", "HWIO", "NHWC")


def initial(layers, shape, key):
    """The parameters of layers, one entry for each, and the shape (height, width, channels) of an example behind them."""
    parameters = []
    for kind, a in layers:
        key, own = jax.random.split(key)
        p, shape = initial_layer(kind, a, shape, own)
        parameters.append(p)
    return parameters, shape


def initial_layer(kind, a, shape, key):
    match kind:
        case "conv2d":
            taps = (a["kernel"], a["kernel"], shape[2])
            p = {"weight": uniform(key, (*taps, a["out"]), taps[0] * taps[1] * taps[2])}
            if a["bias"]:
                p["bias"] = jnp.zeros(a["out"])
            window = lambda n: (n + 2 * a["padding"] - a["kernel"]) // a["stride"] + 1
            return p, (window(shape[0]), window(shape[1]), a["out"])
        case "linear":
            return {"weight": uniform(key, (shape[0], a["out"]), shape[0]), "bias": jnp.zeros(a["out"])}, (a["out"],)
        case "max_pool2d" | "avg_pool2d":
            window = lambda n: (n - a["kernel"]) // a["stride"] + 1
            return {}, (window(shape[0]), window(shape[1]), shape[2])
        case "group_norm":
            return {"gain": jnp.ones(shape[2]), "shift": jnp.zeros(shape[2])}, shape
        case "global_avg_pool2d":
            return {}, (shape[2],)
        case "flatten":
            return {}, (shape[0] * shape[1] * shape[2],)
        case "residual":
            body, out = initial(a["body"], shape, key)
            shortcut, _ = initial(a["shortcut"], shape, key)
            return {"body": body, "shortcut": shortcut}, out
    return {}, shape


def uniform(key, shape, fan_in):
    bound = fan_in**-0.5
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def forward(layers, parameters, x):
    for (kind, a), p in zip(layers, parameters, strict=True):
        x = forward_layer(kind, a, p, x)
    return x


def forward_layer(kind, a, p, x):
    match kind:
        case "conv2d":
            padding = [(a["padding"], a["padding"])] * 2
            z = jax.lax.conv_general_dilated(x, p["weight"], (a["stride"],) * 2, padding, dimension_numbers=LAYOUT)
            return z + p["bias"] if a["bias"] else z
        case "linear":
            return x @ p["weight"] + p["bias"]
        case "max_pool2d":
            return reduce_windows(x, -jnp.inf, jax.lax.max, a)
        case "avg_pool2d":
            return reduce_windows(x, 0.0, jax.lax.add, a) / a["kernel"] ** 2
        case "global_avg_pool2d":
            return x.mean(axis=(1, 2))
        case "group_norm":
            b, h, w, c = x.shape
            groups = x.reshape(b, h * w, a["groups"], c // a["groups"])
            mean, variance = groups.mean(axis=(1, 3), keepdims=True), groups.var(axis=(1, 3), keepdims=True)
            normal = (groups - mean) * jax.lax.rsqrt(variance + 1e-5)
            return normal.reshape(x.shape) * p["gain"] + p["shift"]
        case "flatten":
            return x.reshape(x.shape[0], -1)
        case "relu":
            return jax.nn.relu(x)
        case "tanh":
            return jnp.tanh(x)
        case "residual":
            return forward(a["body"], p["body"], x) + forward(a["shortcut"], p["shortcut"], x)
    raise ValueError(f"no layer {kind}")


def reduce_windows(x, start, combine, a):
    window, strides = (1, a["kernel"], a["kernel"], 1), (1, a["stride"], a["stride"], 1)
    return jax.lax.reduce_window(x, start, combine, window, strides, "VALID")


def prepare(network, batch, threads, variant):
    """A function that makes one private step, and the number of parameters. JAX has no number of threads to set: it is
    kept to that many processors."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    layers, (channels, height, width), _ = NETWORKS[network]
    key = jax.random.key(1)
    parameters, _ = initial(layers, (height, width, channels), key)
    batches = max(1, 4096 // batch)
    pictures = [jax.random.uniform(jax.random.fold_in(key, i), (batch, height, width, channels)) for i in range(batches)]
    labels = [jax.random.randint(jax.random.fold_in(key, i), (batch,), 0, CLASSES) for i in range(batches)]

    def loss(parameters, x, y):
        logits = jax.nn.log_softmax(forward(layers, parameters, x))
        return -jnp.take_along_axis(logits, y[:, None], axis=1).sum()

    clipped = jax_privacy.clipped_grad(loss, l2_clip_norm=1.0, batch_argnums=(1, 2))
    privatizer = noise_addition.gaussian_privatizer(stddev=clipped.sensitivity(), prng_key=key)

    @jax.jit
    def private(parameters, noise, x, y):
        noisy, noise = privatizer.update(clipped(parameters, x, y), noise)
        return jax.tree.map(lambda p, g: p - RATE / batch * g, parameters, noisy), noise

    state = parameters, privatizer.init(parameters)
    at = 0

    def step():
        nonlocal state, at
        state = jax.block_until_ready(private(*state, pictures[at], labels[at]))
        at = (at + 1) % batches

    return step, sum(p.size for p in jax.tree.leaves(parameters))


def versions():
    return {"jax": jax.__version__, "jax-privacy": importlib.metadata.version("jax-privacy")}
