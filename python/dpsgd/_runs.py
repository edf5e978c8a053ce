"""Private runs: started, resumed, measured and asked."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._process import Progress, call, results


@dataclass(frozen=True)
class Result:
    """What came of a run.

    Attributes
    ----------
    status : str
        "done", or "budget_exhausted" if one more step would have passed the budget.
    steps : int
        Updates that were released.
    epsilon, delta : float
        All that the run released is (ε, δ)-differentially private; infinite and 1 for a run with
        ``privacy.none``, which is NOT PRIVATE.
    accountant : str
        Which accountant computed ε; "" without privacy.
    noise_multiplier : float
        Standard deviation of the noise, over the clip norm; 0 where gradients have none.
    test_accuracy : float
        From 0 to 1, of all labels where there are several; NaN of a model of numbers, whose mean
        absolute error is ``details["test_error"]``.
    run : Path
        The folder of the run, with the ledger and ``privacy.md``, the privacy statement.
    model : Path
        The weights, which PyTorch can load.
    details : dict
        Everything that the program said of the result.
    """

    status: str
    steps: int
    epsilon: float
    delta: float
    accountant: str
    noise_multiplier: float
    test_accuracy: float
    run: Path
    model: Path
    details: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Evaluation:
    """How well the model of a run does on its test examples.

    Attributes
    ----------
    test_accuracy : float
        From 0 to 1, of all labels where there are several; NaN of a model of numbers, whose mean
        absolute error is ``details["test_error"]``.
    test_loss : float
        Mean of ``training.loss``.
    test_examples : int
        How many there are.
    epsilon, delta : float
        All that the run released is (ε, δ)-differentially private.
    details : dict
        Everything that the program said of the measurement.
    """

    test_accuracy: float
    test_loss: float
    test_examples: int
    epsilon: float
    delta: float
    details: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Prediction:
    """What a model takes a picture or a row for.

    Attributes
    ----------
    file : str
        Where the picture or row was found.
    class_name : str
        The most probable class or label; "" of a model of numbers.
    probability : float
        Of that class; NaN of a model of numbers.
    classes : dict
        The most probable classes with their probabilities, the first one first.
    number : float
        What a model of numbers says; NaN of any other.
    details : dict
        Everything that the program said of the prediction.
    """

    file: str
    class_name: str
    probability: float
    classes: dict[str, float]
    number: float
    details: dict[str, Any] = field(repr=False)


def train(
    config: str | os.PathLike[str] | Mapping[str, Any] = "digits",
    *,
    set: Mapping[str, Any] | None = None,
    runs_dir: str | os.PathLike[str] = "runs",
    data_dir: str | os.PathLike[str] | None = None,
    progress: Progress | None = print,
) -> Result:
    """Train a private model.

    An interrupt (ctrl-C, the stop button of a notebook) saves and stops the run; `resume` goes on
    with it.

    Parameters
    ----------
    config : str, path or mapping, default "digits"
        The name of a preset, a YAML file, or the sections of one as a mapping, such as
        ``{"data": {"name": "digits"}, "privacy": {"epsilon": 3}}``. Paths in it are relative to the
        working directory.
    set : mapping, optional
        Keys to override, such as ``{"privacy.epsilon": 1, "training.epochs": 5}``.
    runs_dir : path, default "runs"
        The folder that gets a folder for each run.
    data_dir : path, optional
        Where data sets with a name lie.
    progress : callable, default print
        Called with each line that tells how the run goes; None for silence.

    Returns
    -------
    Result
        The spend, the accuracy and where everything lies.

    Raises
    ------
    Error
        With the message of the program.
    """
    overrides = [f"--set={key}={_yaml(value)}" for key, value in (set or {}).items()]
    flags = [f"--runs-dir={os.fspath(runs_dir)}", *_data(data_dir), *overrides]
    if not isinstance(config, Mapping):
        return _result(call(["run", *flags, "--", os.fspath(config)], progress))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "notebook.yaml"  # names the run; JSON is YAML
        file.write_text(_yaml(config), encoding="utf-8")
        return _result(call(["run", *flags, "--", file], progress))


def resume(
    run: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    progress: Progress | None = print,
) -> Result:
    """Go on with an interrupted run, from its last checkpoint, with the spend of its ledger.

    Parameters
    ----------
    run : path
        The folder of the run.
    data_dir, progress
        As for `train`.

    Returns
    -------
    Result
        Of the whole run.

    Raises
    ------
    Error
        With the message of the program.
    """
    return _result(call(["resume", *_data(data_dir), "--", os.fspath(run)], progress))


def evaluate(
    run: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None
) -> Evaluation:
    """Measure the model of a run on its test examples.

    Parameters
    ----------
    run : path
        The folder of the run.
    data_dir
        As for `train`.

    Returns
    -------
    Evaluation
        Accuracy, loss, and what the run has spent.

    Raises
    ------
    Error
        With the message of the program.
    """
    said = call(["eval", *_data(data_dir), "--", os.fspath(run)], None)
    return Evaluation(
        test_accuracy=_number(said["test_accuracy"]),
        test_loss=said["test_loss"],
        test_examples=said["test_examples"],
        epsilon=said["epsilon"],
        delta=said["delta"],
        details=said,
    )


def predict(
    run: str | os.PathLike[str], *paths: str | os.PathLike[str], top: int = 3
) -> list[Prediction]:
    """Say what the model of a run takes pictures, or the rows of tables, for.

    Parameters
    ----------
    run : path
        The folder of the run. Its data are not needed.
    *paths : path
        Pictures, folders of them, or tables as the run was trained on.
    top : int, default 3
        How many classes an answer has; 0 is all of them.

    Returns
    -------
    list of Prediction
        One for each picture or row.

    Raises
    ------
    Error
        With the message of the program.
    """
    said = results(["predict", f"--top={top}", "--", run, *paths], None)
    return [
        Prediction(
            file=one["file"],
            class_name=one.get("class", ""),
            probability=one.get("probability", math.nan),
            classes={each["class"]: each["probability"] for each in one.get("classes", [])},
            number=one.get("number", math.nan),
            details=one,
        )
        for one in said
    ]


def _result(said: dict[str, Any]) -> Result:
    run = Path(said["run"])
    return Result(
        status=said["status"],
        steps=said["steps"],
        epsilon=math.inf if said["epsilon"] is None else said["epsilon"],
        delta=1.0 if said["delta"] is None else said["delta"],
        accountant=said.get("accountant", ""),
        noise_multiplier=said.get("noise_multiplier", 0.0),
        test_accuracy=_number(said["test_accuracy"]),
        run=run,
        model=run / "model.safetensors",
        details=said,
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _yaml(value: Any) -> str:
    # Text outside ASCII stays as it is: the pairs of escapes that JSON writes for some of it mean
    # nothing in YAML.
    return json.dumps(value, ensure_ascii=False, default=os.fspath)


def _data(data_dir: str | os.PathLike[str] | None) -> list[str]:
    return [] if data_dir is None else [f"--data-dir={os.fspath(data_dir)}"]
