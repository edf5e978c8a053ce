"""The networks of configs/networks, as data from which each peer builds its own.

A layer is a tuple of its kind, by PyTorch's name, and its arguments.
"""

CLASSES = 10


def conv(out, kernel, stride=1, padding=0, bias=True):
    return ("conv2d", {"out": out, "kernel": kernel, "stride": stride, "padding": padding, "bias": bias})


def conv3(out, **arguments):
    return conv(out, 3, padding=1, **arguments)


def linear(out):
    return ("linear", {"out": out})


def pool(kind, kernel, stride):
    return (kind, {"kernel": kernel, "stride": stride})


RELU, TANH, FLATTEN, GLOBAL_POOL = ("relu", {}), ("tanh", {}), ("flatten", {}), ("global_avg_pool2d", {})
GROUP_NORM = ("group_norm", {"groups": 8})


def mlp(hidden):
    return [FLATTEN, linear(hidden), RELU, linear(CLASSES)]


def mnist_cnn(activation):
    return [
        conv(16, 8, stride=2, padding=3), activation, pool("max_pool2d", 2, 1),
        conv(32, 4, stride=2), activation, pool("max_pool2d", 2, 1),
        FLATTEN, linear(32), activation, linear(CLASSES),
    ]


def cifar_cnn():
    layers = []
    for channels in (32, 64, 128):
        layers += [conv3(channels), TANH, conv3(channels), TANH, pool("max_pool2d", 2, 2)]
    return layers + [FLATTEN, linear(128), TANH, linear(CLASSES)]


def convnet():
    layers = []
    for channels in (32, 64, 64):
        layers += [conv3(channels), RELU, pool("avg_pool2d", 2, 2)]
    return layers + [conv3(128), RELU, GLOBAL_POOL, linear(CLASSES)]


def residual(channels, stride, shortcut):
    body = [conv3(channels, stride=stride, bias=False), GROUP_NORM, RELU, conv3(channels, bias=False), GROUP_NORM]
    skip = [conv(channels, 1, stride=stride, bias=False)] if shortcut else []
    return [("residual", {"body": body, "shortcut": skip}), RELU]


def resnet8_gn():
    return (
        [conv3(16, bias=False), GROUP_NORM, RELU]
        + residual(16, 1, False) + residual(32, 2, True) + residual(64, 2, True)
        + [GLOBAL_POOL, linear(CLASSES)]
    )


def transformer_encoder():
    """4 blocks of width 128 with 4 heads on 64 positions, the squares of a picture."""
    block = ("transformer_encoder", {"heads": 4, "feedforward": 512})
    return [("patch_embedding", {"patch": 4, "out": 128}), *[block] * 4, ("mean_over_sequence", {}), linear(CLASSES)]


def lstm():
    """An LSTM of 128 units on 64 positions of width 128, the squares of a picture."""
    return [("patch_embedding", {"patch": 4, "out": 128}), ("lstm", {"hidden": 128}), linear(CLASSES)]


GREY, COLOUR = (1, 28, 28), (3, 32, 32)  # channels, height, width

# name: (layers, shape of a picture, parameters)
NETWORKS = {
    "mlp128": (mlp(128), GREY, 101_770),
    "mlp1000": (mlp(1000), GREY, 795_010),
    "mnist-cnn-relu": (mnist_cnn(RELU), GREY, 26_010),
    "mnist-cnn": (mnist_cnn(TANH), GREY, 26_010),
    "cifar-cnn": (cifar_cnn(), COLOUR, 550_570),
    "convnet": (convnet(), COLOUR, 131_466),
    "resnet8-gn": (resnet8_gn(), COLOUR, 77_850),
    "encoder": (transformer_encoder(), COLOUR, 800_650),
    "lstm": (lstm(), COLOUR, 139_658),
}

# Networks of which the program has a file here, not one that is ready.
FILES = {"encoder": "encoder.yaml", "lstm": "lstm.yaml"}
