"""Questions about what releases cost, answered by the accountants of the program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._process import Error, Process, call


def epsilon(
    run: str | os.PathLike[str] | None = None,
    *,
    noise_multiplier: float | None = None,
    sampling_probability: float | None = None,
    examples: int | None = None,
    batch_size: float | None = None,
    sampling: str | None = None,
    bands: int | None = None,
    bins: int | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    delta: float | None = None,
    accountant: str | None = None,
    relation: str | None = None,
    group_size: int | None = None,
) -> float:
    """Compute ε at δ, of planned steps or of everything that a run has released.

    Parameters
    ----------
    run : path, optional
        The folder of a run. It says what was released, so that none of the next nine is given.
    noise_multiplier : float
        Standard deviation of the noise, over the clip norm.
    sampling_probability : float
        Chance of one example to join a batch; or `examples` and `batch_size`.
    examples : int
        Number of training examples.
    batch_size : float
        Expected number of examples in a batch.
    sampling : str, default "poisson"
        Or "cyclic": batches are drawn from the one of `bands` blocks whose turn it is. Or "balls-in-bins": all
        examples are shared out among the `bins` steps of an epoch.
    bands : int
        Blocks that take turns.
    bins : int
        Steps of an epoch.
    steps : int
        Number of updates; or `epochs`.
    epochs : float
        Expected passes over the data.
    delta : float
        δ of the guarantee, below 1/examples; of a run, that of its configuration unless given.
    accountant : str, default "exact"
        Or "pld", "rdp", …, as ``dpsgd epsilon --help`` lists them.
    relation : str, default "zero-out"
        How neighbouring data sets differ: that, "replace-one" or "zero-out".
    group_size : int, default 1
        Records that differ together, such as all pictures of one person.

    Returns
    -------
    float
        An upper bound of ε, in nats.

    Raises
    ------
    Error
        With the message of the program.

    Examples
    --------
    >>> spent = epsilon(examples=60000, batch_size=512, epochs=40, noise_multiplier=1.1, delta=1e-5)
    >>> round(spent, 3)
    2.848
    """
    return float(_answer("epsilon", locals())["epsilon"])


def delta(
    run: str | os.PathLike[str] | None = None,
    *,
    epsilon: float | None = None,
    noise_multiplier: float | None = None,
    sampling_probability: float | None = None,
    examples: int | None = None,
    batch_size: float | None = None,
    sampling: str | None = None,
    bands: int | None = None,
    bins: int | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    accountant: str | None = None,
    relation: str | None = None,
    group_size: int | None = None,
) -> float:
    """Compute δ at ε, of planned steps or of everything that a run has released.

    Parameters
    ----------
    epsilon : float
        ε of the guarantee, in nats; of a run, its budget unless given.
    run, noise_multiplier, and all others
        As for `epsilon`.

    Returns
    -------
    float
        An upper bound of δ.

    Raises
    ------
    Error
        With the message of the program.

    Examples
    --------
    >>> f"{delta(epsilon=3, examples=60000, batch_size=512, epochs=40, noise_multiplier=1.1):.2e}"
    '4.05e-06'
    """
    return float(_answer("delta", locals())["delta"])


def calibrate(
    run: str | os.PathLike[str] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    solve: str = "noise-multiplier",
    noise_multiplier: float | None = None,
    sampling_probability: float | None = None,
    examples: int | None = None,
    batch_size: float | None = None,
    sampling: str | None = None,
    bands: int | None = None,
    bins: int | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    accountant: str | None = None,
    relation: str | None = None,
    group_size: int | None = None,
) -> float:
    """Compute the least noise multiplier with which steps stay within a budget (ε, δ).

    Parameters
    ----------
    epsilon : float
        The budget, in nats.
    delta : float
        δ of the guarantee, below 1/examples.
    solve : str, default "noise-multiplier"
        Or "sampling-probability": the largest for a `noise_multiplier` and `steps`.
    run, noise_multiplier, and all others
        As for `epsilon`, without what is solved for.

    Returns
    -------
    float
        The noise multiplier, or the sampling probability.

    Raises
    ------
    Error
        With the message of the program.

    Examples
    --------
    >>> import math
    >>> sigma = calibrate(epsilon=3, delta=1e-5, examples=60000, batch_size=512, epochs=40)
    >>> math.ceil(1e4 * sigma) / 1e4  # rounded up: with less noise, the budget would not hold
    1.0682
    """
    return float(_answer("calibrate", locals())[solve.replace("-", "_")])


def steps(
    run: str | os.PathLike[str] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    noise_multiplier: float | None = None,
    sampling_probability: float | None = None,
    examples: int | None = None,
    batch_size: float | None = None,
    sampling: str | None = None,
    bands: int | None = None,
    bins: int | None = None,
    accountant: str | None = None,
    relation: str | None = None,
    group_size: int | None = None,
) -> int:
    """Compute how many steps stay within a budget (ε, δ); of a run, how many more.

    Parameters
    ----------
    epsilon : float
        The budget, in nats.
    delta : float
        δ of the guarantee, below 1/examples.
    run, noise_multiplier, and all others
        As for `epsilon`.

    Returns
    -------
    int
        The most steps.

    Raises
    ------
    Error
        With the message of the program.

    Examples
    --------
    >>> steps(epsilon=3, delta=1e-5, examples=60000, batch_size=512, noise_multiplier=1.1)
    5160
    """
    return int(_answer("steps", locals())["steps"])


def ask(what: str, questions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Answer many questions with one process, about releases of any kind.

    Parameters
    ----------
    what : str
        "epsilon", "delta", "calibrate" or "steps".
    questions : iterable of mappings
        As ``dpsgd epsilon --batch`` reads them, one JSON object each: "phases", a list of mappings
        with "sampling_probability", "noise_multiplier", "steps" and, of turns, "bands", or "ledger"; "delta", "epsilon"
        or "target_epsilon"; and "accountant", "relation", "group_size" and "id" if need be.

    Returns
    -------
    list of dict
        Each question with the answer, and "lower" and "upper", which bound it; or with "error".

    Raises
    ------
    Error
        If there are not as many answers as questions.
    """
    lines = [json.dumps(question) for question in questions]
    process = Process([what, "--batch"], "".join(line + "\n" for line in lines))
    process.follow(None)
    if len(process.answers) != len(lines):
        raise Error(process.complaint(), process.exit_code)
    return [json.loads(answer) for answer in process.answers]


def _answer(what: str, given: Mapping[str, Any]) -> Any:
    """Ask with the flags that are named as the parameters of the functions are."""
    arguments = [what]
    for name, value in given.items():
        if name == "run" or value is None:
            continue
        arguments.append(f"--{name.replace('_', '-')}={value}")
    if given["run"] is not None:
        arguments += ["--", os.fspath(given["run"])]
    return call(arguments, None)
