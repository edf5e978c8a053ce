"""A second reader of privacy statements, which shares no code with the program.

It reads the ledger of a run, line by line with its hashes, what the ledger of its data says the run
planned, and ``privacy.json``; and it lets ``dp_accounting`` (https://pypi.org/project/dp-accounting,
which has to be installed beside this package) compute ε anew, from privacy loss distributions.

>>> python -m dpsgd.verify runs/digits-1                                          # doctest: +SKIP
runs/digits-1 holds: ε = 2.9994 at δ = 1e-05 is stated, dp_accounting finds 2.9994
    the ledger is whole: 1563 entries, head 1f6f0c…, as privacy.json says
    ε is that of the 1563 releases in the ledger

It exits with 0 if every statement holds, with 1 if one does not, with 2 if one cannot be recomputed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Entries = list[tuple[dict[str, Any], int]]
"""Events as the ledger writes them, and how often in a row."""

CHOICE = {"approx_dp": {"epsilon": 0, "delta": 0}}
"""The entry that says that the number of releases was chosen after some of them."""

TOLERANCE = 0.005
"""The part of ε by which distributions on a grid may be above the exact value."""


class Damaged(Exception):
    """A file is not what the program wrote."""


class Unknown(Exception):
    """dp_accounting has no privacy loss distribution for something that was released."""


@dataclass
class Verdict:
    """What came of a statement.

    Attributes
    ----------
    holds : bool or None
        None where it could not be recomputed.
    stated : float
        ε of ``privacy.json``, in nats.
    found : float or None
        ε by dp_accounting for the same releases, at the same δ.
    delta : float
        δ of both.
    notes : list of str
        What was checked, and what does not hold.
    """

    run: Path
    holds: bool | None = None
    stated: float = math.nan
    found: float | None = None
    delta: float = math.nan
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        word = {True: "holds", False: "DOES NOT HOLD", None: "cannot be recomputed"}[self.holds]
        line = f"{self.run} {word}"
        if self.found is not None:
            line += f": ε = {self.stated:.4f} at δ = {self.delta:g} is stated, dp_accounting finds {self.found:.4f}"
        return "\n    ".join([line, *self.notes])


def read_chain(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Read a file of hash-chained lines: the lines, and the hash of the file down to each.

    A last line without an end counts if it is whole, and else was never acknowledged.
    """
    lines: list[dict[str, Any]] = []
    heads: list[str] = []
    content = path.read_bytes().split(b"\n")
    for number, line in enumerate(content, 1):
        last = number == len(content)
        if last and not line:
            break
        try:
            read = json.loads(line)
        except ValueError:
            if last and lines:
                break
            raise Damaged(f"{path}:{number}: found no JSON") from None
        hashed = line if number == 1 else line.rpartition(b',"hash":')[0]
        head = hashlib.sha256(hashed).hexdigest()[:32]
        if number > 1 and (read.get("previous") != heads[-1] or head != read.get("hash")):
            raise Damaged(f"{path}:{number}: found another hash than that of the lines above")
        lines.append(read)
        heads.append(head)
    if not lines:
        raise Damaged(f"{path}: found no line")
    return lines, heads


def entries_of(events: Sequence[dict[str, Any]]) -> Entries:
    """Count equal neighbours together."""
    entries: Entries = []
    for event in events:
        if entries and entries[-1][0] == event:
            entries[-1] = (event, entries[-1][1] + 1)
        else:
            entries.append((event, 1))
    return entries


def count(entries: Entries) -> int:
    """Return the number of events."""
    return sum(n for _, n in entries)


def known_of(run: Path, name: str) -> tuple[Entries | None, float, str]:
    """Return what the ledger of the data says that a run planned, its budget (0 for none), and the head of its ledger.

    The first is None and the last is "" where nobody knows, as of runs of earlier versions.
    """
    releases, budget, head = None, 0.0, ""
    for folder in run.resolve().parents:
        shared = folder / "datasets.jsonl"
        if not shared.exists():
            continue
        for line in read_chain(shared)[0]:
            registered, released = line.get("register", {}), line.get("release", {})
            if released.get("run") == name:
                head = released["line"]["hash"]
            if registered.get("run") == name:
                head = registered.get("head", "")
            if registered.get("run") == name and releases is None and (planned := registered.get("planned")):
                releases = [(e["event"], e["count"]) for e in planned.get("releases") or []]
                budget = planned.get("epsilon", 0.0)
        break
    return releases, budget, head


def claim(released: Entries, planned: Entries | None) -> tuple[Entries, int, str]:
    """Return the releases that a statement is about, by how many powers of two it divides δ, and why.

    docs/accounting.md, "In training", has the arguments: a run that stopped is charged for all that
    it planned; each choice of a number of releases halves δ.
    """
    choices = sum(n for event, n in released if event == CHOICE)
    released = [(event, n) for event, n in released if event != CHOICE]
    own = f"ε is that of the {count(released)} releases in the ledger"
    if choices:
        own += f", at δ/2^{choices} for {choices} choices of their number"
    if planned is None or not released:
        return released, choices, own
    if choices and planned:  # the last entry holds the steps, of which there are more now
        event, first = planned[-1]
        planned = [*planned[:-1], (event, math.ceil(first * 2 ** (choices / 4)))]
    more = count(released) - count(planned)
    if more > 0:
        number, total = 1, 1
        while total < more:
            number, total = number + 1, 2 * total
        step = (planned or released)[-1][0]
        return [*released, (step, total - more)], choices + number, f"{more} releases were repeated: ε is that of {count(released) + total - more} at δ/2^{choices + number}"
    if more < 0:
        return planned, choices, f"the run stopped after {count(released)} releases: ε is that of all {count(planned)} that it planned"
    return released, choices, own


def distribution(event: dict[str, Any], q: float = 1.0) -> Any:
    """Return the privacy loss distribution of one event under the relation zero-out.

    Noise is in units of the bound on one record's contribution. None stands for an event that
    costs nothing.
    """
    from dp_accounting.pld import common, privacy_loss_distribution as pld

    ((kind, p),) = event.items()
    if kind == "poisson_sampled" and q == 1.0:
        q = p["sampling_probability"]
        return None if q == 0 else distribution(p["event"], q)
    if kind in ("composed", "self_composed") and q == 1.0:
        parts = [(e, 1) for e in p["events"]] if kind == "composed" else [(p["event"], p["count"])]
        return composed(parts)
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(p["noise_multiplier"], sampling_prob=q)
    if kind == "laplace":
        return pld.from_laplace_mechanism(p["scale"], sampling_prob=q)
    if kind == "discrete_laplace":
        moves = p["sensitivity"]
        return pld.from_discrete_laplace_mechanism(1 / (p["scale"] * moves), moves, sampling_prob=q)
    if kind == "discrete_gaussian" and p["sensitivity"] > 0:
        moves = p["sensitivity"]
        return pld.from_discrete_gaussian_mechanism(p["noise_multiplier"] * moves, moves, sampling_prob=q)
    if kind in ("approx_dp", "add_or_remove_dp") and q == 1.0:
        if p["epsilon"] == 0 and p["delta"] == 0:
            return None
        return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(p["epsilon"], p["delta"]))
    if kind == "randomized_response" and q == 1.0:
        return pld.from_randomized_response(p["noise_probability"], p["buckets"])
    if kind == "bounded_range" and q == 1.0:
        upper, lower = bounded_range(p["range"])
        return pld.from_two_probability_mass_functions(lower, upper)
    raise Unknown(f"dp_accounting has no privacy loss distribution for {json.dumps(event)}")


def bounded_range(width: float, cells: int = 20_000) -> tuple[dict[int, float], dict[int, float]]:
    """Return the pair of distributions that dominates a choice whose losses lie within some interval of a width.

    Such a choice, as of the exponential mechanism, has δ(ε) of at most (1 - e^((ε-w)/2))²/(1 - e^-w)
    (Dong, Durfee, Rogers 2020, arXiv:1909.13830, Lemma 3.3, at the worst t). The derivatives of δ by ε and by
    e^ε give the distributions of the loss l: both have a density on [-w, w], in proportion to e^(l/2) and to
    e^(-l/2). Equal parts of the interval are the outcomes, with the logarithms of their probabilities; so
    many that what a part hides does not show.
    """
    size = 2 * width / cells
    log_first = math.log(math.expm1(size / 2)) - math.log(2 * math.sinh(width / 2)) - width / 2
    upper = {i: log_first + i * size / 2 for i in range(cells)}
    return upper, {i: upper[cells - 1 - i] for i in range(cells)}


def composed(entries: Entries) -> Any:
    """Return the privacy loss distribution of all events together; None if they cost nothing."""
    all_of_them = None
    for event, equal in itertools.groupby(entries, key=lambda entry: entry[0]):
        n = count(list(equal))
        if "cyclic_sampled" in event:  # of n turns in a row a record sees those of its block
            turns = event["cyclic_sampled"]
            event, n = turns["event"], -(-n // turns["blocks"])
        one = distribution(event)
        if one is None or n == 0:
            continue
        several = one.self_compose(n) if n > 1 else one
        all_of_them = several if all_of_them is None else all_of_them.compose(several)
    return all_of_them


def epsilon(entries: Entries, delta: float) -> float:
    """Return an upper bound of ε at δ for releases, by dp_accounting."""
    losses = composed(entries)
    return 0.0 if losses is None else float(losses.get_epsilon_for_delta(delta))


def verify(run: str | os.PathLike[str]) -> Verdict:
    """Recompute the statement of a run from its ledger and its plan.

    Parameters
    ----------
    run : path
        The folder of a run that has ended, below the folder of runs with the ledger of its data.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> verify("runs/digits-1").holds                                             # doctest: +SKIP
    True
    """
    verdict = Verdict(Path(run))
    try:
        compare(verdict)
    except Unknown as error:
        verdict.notes.append(str(error))
    except Exception as error:  # as many kinds as a damaged file may cause
        verdict.holds = False
        verdict.notes.append(f"{type(error).__name__}: {error}")
    return verdict


def compare(verdict: Verdict) -> None:
    """Fill in a verdict."""
    run = verdict.run
    if not (run / "privacy.json").exists():
        raise Unknown("found no privacy.json, expected the folder of a run that has ended")
    statement = json.loads((run / "privacy.json").read_text(encoding="utf-8"))
    verdict.stated, verdict.delta = float(statement["epsilon"]), float(statement["delta"])
    system = statement.get("system", "")
    if system in ("none", "selection"):
        raise Unknown(f"found the statement of a run without privacy, or of a selection: {system}")
    if system != "label" and statement["relation"] != "zero-out":
        raise Unknown(f"found a statement under {statement['relation']}, expected zero-out")
    lines, heads = read_chain(run / "ledger.jsonl")
    last = statement["ledger_entries"]
    if not min(1, len(lines) - 1) <= last < len(lines) or heads[last] != statement["ledger_head"]:
        raise Damaged(f"found a ledger of {len(lines) - 1} entries, expected {last} with the head {statement['ledger_head']}, as privacy.json says")
    verdict.notes.append(f"the ledger is whole: {last} entries, head {heads[last][:6]}…, as privacy.json says")
    if len(lines) - 1 > last:
        verdict.notes.append(f"it has grown to {len(lines) - 1} entries, of which the statement does not speak")
    model = run / "model.safetensors"
    if statement.get("model_sha256") and model.exists() and hashlib.sha256(model.read_bytes()).hexdigest() != statement["model_sha256"]:
        raise Damaged(f"{model}: found another model than that of privacy.json")
    released = entries_of([line["event"] for line in lines[1 : last + 1]])
    planned, budget, known = known_of(run, lines[0]["run"])
    if known not in ("", *heads):
        raise Damaged("found releases in the ledger of the data that this ledger does not have")
    entries, halvings, why = claim(released, planned)
    chosen = any(event == CHOICE for event, _ in released)  # then nobody's budget is that of the plan
    verdict.found = epsilon(entries, verdict.delta / 2**halvings)
    if budget and not chosen and verdict.found > budget * (1 + TOLERANCE):
        why = within(verdict, released, planned, statement.get("claimed_entries", 0), budget)
    verdict.holds = verdict.stated >= verdict.found * (1 - TOLERANCE)
    verdict.notes.append(why)
    plain = statement.get("epsilon_plain")
    if plain is not None and plain < verdict.found * (1 - TOLERANCE):
        verdict.holds = False
        verdict.notes.append(f"the plain ε is stated as {plain:.4f}, below what it bounds")


def within(verdict: Verdict, released: Entries, planned: Entries | None, claimed: int, budget: float) -> str:
    """Recompute ε of a run whose plan does not fit its budget: of as many releases as fit."""
    step, delta = (planned or released)[-1][0], verdict.delta
    many = [*released, (step, max(0, claimed - count(released)))]
    verdict.found = epsilon(many, delta)
    if epsilon([*many, (step, 1)], delta) < budget * (1 - TOLERANCE):
        raise Damaged(f"found a claim about {count(many)} releases, expected one about as many as the budget ε = {budget:g} allows, which are more")
    return f"ε is that of {count(many)} releases, as many as fit the budget ε = {budget:g}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the runs in the arguments and print what came of each."""
    runs = list(sys.argv[1:] if arguments is None else arguments)
    if not runs:
        print("give folders of runs: python -m dpsgd.verify RUN...", file=sys.stderr)
        return 2
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        print("found no dp_accounting, which computes ε here: pip install dp-accounting", file=sys.stderr)
        return 2
    verdicts = [verify(run) for run in runs]
    for verdict in verdicts:
        print(verdict)
    held = [verdict.holds for verdict in verdicts]
    return 1 if False in held else 2 if None in held else 0


if __name__ == "__main__":
    sys.exit(main())
