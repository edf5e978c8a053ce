"""Train neural networks with differential privacy (DP-SGD), and ask what training costs.

The package carries the program ``train`` and calls it; nothing is computed in Python.

>>> import dpsgd
>>> dpsgd.steps(sampling_probability=0.01, noise_multiplier=1.1, epsilon=3, delta=1e-5)
3712

Functions
---------
epsilon, delta, calibrate, steps
    What planned steps, or those of a run, cost.
ask
    The same for many questions at once, with bounds from both sides.
train, resume, evaluate, predict
    Private runs and what came of them.
command
    Any other command of the program that prints a result as JSON.
"""

from importlib.metadata import PackageNotFoundError, version

from ._process import Error, command
from ._questions import ask, calibrate, delta, epsilon, steps
from ._runs import Evaluation, Prediction, Result, evaluate, predict, resume, train

__all__ = [
    "Error",
    "Evaluation",
    "Prediction",
    "Result",
    "ask",
    "calibrate",
    "command",
    "delta",
    "epsilon",
    "evaluate",
    "predict",
    "resume",
    "steps",
    "train",
]

try:
    __version__ = version("dpsgd")
except PackageNotFoundError:  # imported from a checkout
    __version__ = "0"
