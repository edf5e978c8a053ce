#!/usr/bin/env python3
"""Compares privacy accounting with dp_accounting, Opacus and prv_accountant: how close the answers are, and how long they take.

Prints tables in Markdown. The reference for accuracy is the certified interval of our accountant `exact`. Every question to a
peer is a process of its own on one core, and ours and the peers' take turns. Run it with the Python that has the peers
installed, see README.md.
"""

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the checkout

import tables
from compare import build, chosen, peer_environment, processor, say

HERE = Path(__file__).resolve().parent

# By the module that has to be installed.
PEERS = {
    "dp_accounting": ["dp_accounting-pld", "dp_accounting-rdp"],
    "opacus": ["opacus-prv", "opacus-rdp"],
    "prv_accountant": ["prv_accountant-0.1", "prv_accountant-0.01"],  # by the error of ε that is asked for
}
OURS = ["exact", "pld", "rdp"]

MNIST = 256 / 60000

# What is released, [sampling probability, noise multiplier, steps] of each phase, and δ.
ACCURACY = {f"mnist-{delta:.0e}".replace("e-0", "e-"): {"phases": [[MNIST, 1.1, 14063]], "delta": delta} for delta in (1e-5, 1e-8, 1e-10, 1e-12, 1e-15)} | {
    "many-steps": {"phases": [[0.01, 1, 10_000]], "delta": 1e-5},
    "large-batch": {"phases": [[0.08192, 3, 2000]], "delta": 1e-5},
    "rare": {"phases": [[1e-5, 0.8, 1_000_000]], "delta": 1e-6},
    "low-noise": {"phases": [[0.01, 0.4, 100]], "delta": 1e-5},
    "high-noise": {"phases": [[0.001, 20, 1000]], "delta": 1e-6},
    "two-phases": {"phases": [[MNIST, 1.1, 7000], [2 * MNIST, 1.4, 3000]], "delta": 1e-5},
}

# The same with a name for the table, how often a process of ours answers it, and for calibration the ε to reach.
SPEED = {
    "epsilon": {"title": "ε at q = 0.01, σ = 1, T = 10,000, δ = 1e-5", "phases": [[0.01, 1, 10_000]], "delta": 1e-5, "repeat": 20},
    "calibration": {"title": "σ for ε = 3 at q = 0.01, T = 10,000, δ = 1e-5", "phases": [[0.01, None, 10_000]], "delta": 1e-5, "target_epsilon": 3, "repeat": 5},
    "phases": {
        "title": "ε of 1,000 phases, q 0.001 to 0.011, σ 1 to 2, ten steps each, δ = 1e-5",
        "phases": [[0.001 + 0.01 * i / 1000, 1 + i / 1000, 10] for i in range(1000)], "delta": 1e-5, "repeat": 1,
    },
}

# Asked before the clock starts, of everyone but `rdp, first time`: Python loads modules late, and memory has to be mapped.
WARM_UP = {"phases": [[0.02, 2, 10]], "delta": 1e-4}

# A peer answers again until this much time has passed, at most so often.
ENOUGH = 1.0  # seconds
OFTEN = 9

# What a process may take beyond the limit for its answer, for its start.
PATIENCE = 120  # seconds

# A share of the memory that a peer may map. Beyond it, it fails instead of the machine.
MEMORY = 0.75


def main():
    a = arguments()
    a.load = os.getloadavg()[0]
    if a.load > 0.5:
        say(f"the load average is {a.load:.1f}: something else runs on this machine, and the times will be wrong")
    with tempfile.TemporaryDirectory() as scratch:
        a.program = a.train or build(Path(scratch))
        a.benchmark = None if a.train or "epsilon" not in a.questions else build_benchmark(Path(scratch))
        accuracy = [ask_everyone(a, name) for name in a.questions if name in ACCURACY]
        speed = [race(a, name) for name in a.questions if name in SPEED]
    print(heading(a) + accuracy_table(a, accuracy) + "".join(speed_table(row) for row in speed))
    if a.json:
        Path(a.json).write_text(json.dumps({"accuracy": accuracy, "speed": speed}, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [p for peers in PEERS.values() for p in peers]
    missing = [m for m in PEERS if not importlib.util.find_spec(m)]
    installed = [p for m, peers in PEERS.items() if m not in missing for p in peers]
    words = lambda choices: lambda text: chosen(parser, text, choices)
    parser.add_argument("--questions", type=words([*ACCURACY, *SPEED]), default=[*ACCURACY, *SPEED], help="separated by commas; default: all of " + ", ".join([*ACCURACY, *SPEED]))
    parser.add_argument("--peers", type=words(known), default=installed, help="default: those installed, of " + ", ".join(known))
    parser.add_argument("--rounds", type=int, default=5, help="of each question about speed; default: %(default)s")
    parser.add_argument("--limit", type=float, default=60, help="seconds for an answer of a peer; default: %(default)s")
    parser.add_argument("--train", help="the program to ask; default: built from this checkout")
    parser.add_argument("--json", help="file for all answers and the times of all rounds")
    a = parser.parse_args()
    if a.rounds < 1 or not a.limit > 0:
        parser.error("rounds and limit must be positive")
    a.missing = missing
    for module in missing:
        say(f"{module} is not installed and left out")
    return a


# Ours.


def ours(a, command, lines, accountant):
    """Answers of one process to a list of questions."""
    text = "".join(json.dumps(line_of(q, accountant)) + "\n" for q in lines)
    p = subprocess.run([a.program, command, "--batch"], input=text, env=one_core(), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in p.stdout.splitlines()]
    for answer in answers:
        del answer["phases"]
    return answers


def line_of(question, accountant):
    keys = ("sampling_probability", "noise_multiplier", "steps")
    phases = [{k: x for k, x in zip(keys, phase) if x is not None} for phase in question["phases"]]
    line = {"accountant": accountant, "relation": "add-or-remove-one", "phases": phases}
    return line | {k: question[k] for k in ("delta", "target_epsilon") if k in question}


def one_core():
    return peer_environment(1) | {"GOMAXPROCS": "1"}


def nudged(question, k):
    """The question with a slightly other σ or ε, so that nothing of an earlier answer can be used again."""
    factor = 1 + k * 1e-6
    if "target_epsilon" in question:
        return question | {"target_epsilon": question["target_epsilon"] * factor}
    return question | {"phases": [[q, sigma * factor, steps] for q, sigma, steps in question["phases"]]}


def time_ours(a, question, what):
    """One figure, {seconds, answer} or {error}, of one process."""
    accountant, _, how = what.partition(", ")
    command = "calibrate" if "target_epsilon" in question else "epsilon"
    if how == "whole process":
        return time_process(a, question, accountant)
    if how == "interval 1e-4":
        return time_benchmark(a)
    if how == "first time":
        answers = ours(a, command, [question], accountant)
    elif how == "again":
        answers = ours(a, command, [question] * (1 + question["repeat"]), accountant)[1:]
    else:
        warm_up = WARM_UP | ({"phases": [[0.02, None, 10]], "target_epsilon": 1} if command == "calibrate" else {})
        answers = ours(a, command, [warm_up, *(nudged(question, k) for k in range(question["repeat"]))], accountant)[1:]
    errors = [x["error"] for x in answers if "error" in x]
    if errors:
        return {"error": errors[0]}
    return answers[0] | {"seconds": statistics.median(x["seconds"] for x in answers)}


def time_process(a, question, accountant):
    """From the start of the program to its end, with one question on the command line."""
    (q, sigma, steps), = question["phases"]
    flags = ["--sampling-probability", q, "--noise-multiplier", sigma, "--steps", steps, "--delta", question["delta"], "--accountant", accountant, "--json"]
    start = time.perf_counter()
    p = subprocess.run([a.program, "epsilon", *map(str, flags)], env=one_core(), capture_output=True, text=True, check=True)
    return json.loads(p.stdout.splitlines()[-1]) | {"seconds": time.perf_counter() - start}


def build_benchmark(scratch):
    program = scratch / "accountant.test"
    subprocess.run(["go", "test", "-c", "-o", program, "./accountant/pld"], cwd=HERE.parent, check=True)
    return program


def time_benchmark(a):
    """The question `epsilon` at a chosen interval, which only Go code can ask for."""
    flags = ["-test.run", "^$", "-test.bench", "^BenchmarkQuestionPLD$", "-test.cpu", "1", "-test.benchtime", "20x"]
    p = subprocess.run([a.benchmark, *flags], cwd=HERE.parent / "accountant/pld", env=one_core(), capture_output=True, text=True, check=True)
    return {"seconds": float(re.search(r"^BenchmarkQuestionPLD\S*\s+\d+\s+([\d.]+) ns/op", p.stdout, re.MULTILINE)[1]) * 1e-9}


# Peers.


def peer(a, question, what, once):
    """One figure, {seconds, epsilon or noise_multiplier, lower, upper} or {error}, of a process that is stopped at the limit."""
    request = {"peer": what, "question": question, "limit": a.limit, "once": once}
    command = [sys.executable, "-W", "ignore", __file__, "answer"]
    try:
        p = subprocess.run(command, input=json.dumps(request), env=one_core(), capture_output=True, text=True, timeout=a.limit * OFTEN + PATIENCE)
    except subprocess.TimeoutExpired:
        return {"error": over(a.limit)}
    if p.returncode == -signal.SIGALRM:
        return {"error": over(a.limit)}
    if p.returncode != 0:
        lines = [line for line in p.stderr.splitlines() if line.strip()] or [f"ended with status {p.returncode}"]
        return {"error": lines[-1].strip()}
    return json.loads(p.stdout.splitlines()[-1])


def over(limit):
    return f"> {limit:g} s"


def answer():
    """The other side of peer: one question on standard input, its answer on the last line of standard output."""
    request = json.load(sys.stdin)
    name, question = request["peer"], request["question"]
    try:
        most = int(MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (OSError, ValueError):
        pass  # macOS
    try:
        epsilon, calibrate = LOAD[name.partition("-")[0]](name.partition("-")[2])
        ask = (lambda: calibrate(question)) if "target_epsilon" in question else (lambda: epsilon(question))
        if not request["once"]:
            epsilon(WARM_UP)
        times = []
        while not times or not request["once"] and sum(times) < ENOUGH and len(times) < OFTEN:
            signal.setitimer(signal.ITIMER_REAL, request["limit"])  # whose signal ends the process, also inside of C
            start = time.perf_counter()
            found = ask()
            times.append(time.perf_counter() - start)
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(found | {"seconds": statistics.median(times)}))
    except Exception as e:
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps({"error": f"{type(e).__name__}: {str(e) or 'no message'}".splitlines()[0]}))


def load_dp_accounting(kind):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant  # with its interval of 1e-4
    from dp_accounting.rdp import RdpAccountant

    accountant = {"pld": PLDAccountant, "rdp": RdpAccountant}[kind]

    def event(q, sigma, steps):
        return dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma)), steps)

    def epsilon(question):
        all_phases = dp_accounting.ComposedDpEvent([event(*phase) for phase in question["phases"]])
        return {"epsilon": float(accountant().compose(all_phases).get_epsilon(question["delta"]))}

    def calibrate(question):
        (q, _, steps), = question["phases"]
        sigma = dp_accounting.calibrate_dp_mechanism(accountant, lambda sigma: event(q, sigma, steps), question["target_epsilon"], question["delta"])
        return {"noise_multiplier": float(sigma)}

    return epsilon, calibrate


def load_opacus(kind):
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    def epsilon(question):
        accountant = create_accountant(kind)
        accountant.history = [(sigma, q, steps) for q, sigma, steps in question["phases"]]
        return {"epsilon": float(accountant.get_epsilon(question["delta"]))}

    def calibrate(question):
        (q, _, steps), = question["phases"]
        sigma = get_noise_multiplier(target_epsilon=question["target_epsilon"], target_delta=question["delta"], sample_rate=q, steps=steps, accountant=kind)
        return {"noise_multiplier": float(sigma)}

    return epsilon, calibrate


def load_prv_accountant(error):
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant
    from prv_accountant.dpsgd import find_noise_multiplier

    def epsilon(question):
        delta, counts = question["delta"], [steps for _, _, steps in question["phases"]]
        releases = [PoissonSubsampledGaussianMechanism(sampling_probability=q, noise_multiplier=sigma) for q, sigma, _ in question["phases"]]
        accountant = PRVAccountant(releases, eps_error=float(error), delta_error=delta / 1000, max_self_compositions=counts)
        lower, _, upper = accountant.compute_epsilon(delta, counts)
        return {"epsilon": float(upper), "lower": float(lower), "upper": float(upper)}

    def calibrate(question):
        (q, _, steps), = question["phases"]
        return {"noise_multiplier": float(find_noise_multiplier(q, steps, question["target_epsilon"], question["delta"], eps_error=float(error)))}

    return epsilon, calibrate


LOAD = {"dp_accounting": load_dp_accounting, "opacus": load_opacus, "prv_accountant": load_prv_accountant}


# Rounds.


def ask_everyone(a, name):
    """{tool: answer} for a question about accuracy."""
    question = ACCURACY[name]
    answers = {what: ours(a, "epsilon", [question], what)[0] for what in OURS}
    for what in a.peers:
        answers[what] = peer(a, question, what, once=True)
        say(f"{name}: {what} {answers[what].get('epsilon', answers[what].get('error'))}")
    return {"question": name} | question | {"answers": answers}


def race(a, name):
    """All rounds of a question about speed: {what: [figures of a round, ...]}, and what failed and why."""
    question = SPEED[name]
    rounds, failed = {}, {}
    for number in range(a.rounds):
        for what in [*our_ways(a, name), *a.peers]:
            if what in failed:
                continue
            figure = peer(a, question, what, once=False) if what in a.peers else time_ours(a, question, what)
            if "error" in figure:
                failed[what] = figure["error"]
                rounds.pop(what, None)
            else:
                rounds.setdefault(what, []).append(figure)
            say(f"{name}, round {number + 1}/{a.rounds}: {what} {figure.get('error') or duration(figure['seconds'])}")
    row = {"question": name, "target_epsilon": question.get("target_epsilon"), "rounds": rounds, "failed": failed}
    return row | {"spent": spent(a, question, rounds), "reference": reference(a, question)}


def our_ways(a, name):
    if name != "epsilon":
        return ["exact", "pld", "rdp, first time"]
    ways = ["exact", "exact, whole process", "pld", "pld, interval 1e-4", "rdp, first time", "rdp, again"]
    return [w for w in ways if a.benchmark or w != "pld, interval 1e-4"]


def spent(a, question, rounds):
    """For calibration, the interval of the true ε with the noise that each tool found."""
    if "target_epsilon" not in question:
        return {}
    (q, _, steps), = question["phases"]
    sigmas = {what: figures[0]["noise_multiplier"] for what, figures in rounds.items()}
    answers = ours(a, "epsilon", [{"phases": [[q, sigma, steps]], "delta": question["delta"]} for sigma in sigmas.values()], "exact")
    return dict(zip(sigmas, answers))


def reference(a, question):
    """The certified interval of ε."""
    return None if "target_epsilon" in question else ours(a, "epsilon", [question], "exact")[0]


# Tables.


def heading(a):
    names = [m for m in PEERS if any(p.startswith(m) for p in a.peers)] + ["numpy", "scipy", "torch"] * bool(a.peers)
    versions = [f"{n} {importlib.metadata.version(n.replace('_', '-'))}" for n in names if importlib.util.find_spec(n)]
    lines = [
        f"- Machine: {processor()}, {platform.system()} {platform.machine()}; one core is used",
        f"- Date: {datetime.date.today()}; load average before the run {a.load:.1f}",
        f"- Command: `python {shlex.join(['bench/compare_accounting.py', *sys.argv[1:]])}`",
        f"- Peers: {', '.join(versions) or 'none'}, Python {platform.python_version()}" + "".join(f"; {m} is not installed" for m in a.missing),
    ]
    return "\n".join(lines) + "\n"


LABELS = {
    "dp_accounting-pld": "dp_accounting PLD", "dp_accounting-rdp": "dp_accounting RDP", "opacus-prv": "Opacus PRV", "opacus-rdp": "Opacus RDP",
    "prv_accountant-0.1": "prv_accountant, ±0.1", "prv_accountant-0.01": "prv_accountant, ±0.01",
}


def label(what):
    name, comma, how = what.partition(", ")
    return LABELS.get(what) or f"`{name}`{comma}{how}"


def accuracy_table(a, report):
    if not report:
        return ""
    rows = []
    for row in report:
        true = row["answers"]["exact"]
        phases = "; ".join(f"{q:.6g}, {sigma:g}, {steps:,}" for q, sigma, steps in row["phases"])
        rows.append([f"{phases}; {row['delta']:.0e}".replace("e-0", "e-"), certified(true)] + [compared(row["answers"][w], true) for w in [*OURS[1:], *a.peers]])
    table = tables.markdown(["q, σ, T; δ", "`exact`, relative width", *(label(w) for w in [*OURS[1:], *a.peers])], rows)
    return "\nε, with bounds where a tool has them, and how far it is above `exact`:\n\n" + explained(table)


def certified(answer):
    if "error" in answer:
        return failure(answer["error"])
    return f"{answer['epsilon']:#.10g}, {(answer['upper'] - answer['lower']) / answer['upper']:.0e}"


def compared(answer, true):
    if "error" in answer:
        return failure(answer["error"])
    text = f"{answer['epsilon']:#.6g}"
    if answer.get("lower", 0) > 0:
        text = f"[{answer['lower']:#.6g}, {answer['upper']:#.6g}]"
    if math.isinf(answer["epsilon"]):
        return "∞"
    if "error" in true:
        return text
    return f"{text} {brief(100 * (answer['epsilon'] / true['epsilon'] - 1), '+')} %" + below(answer["epsilon"], true["lower"])


def failure(error):
    return error.replace("|", "\\|")


def below(epsilon, lower):
    """A dagger for an answer that cannot be true."""
    return " †" if epsilon < lower else ""


def speed_table(row):
    seconds = lambda what: tables.median(row, what, "seconds")
    rows = []
    for what, figures in row["rounds"].items():
        ratio = brief(seconds(what) / seconds("exact")) if "exact" in row["rounds"] else "n/a"
        rows.append([label(what), duration(seconds(what)) + tables.mark(row, what, "seconds"), ratio, result(row, what, figures[0])])
    rows += [[label(what), failure(error), "", ""] for what, error in row["failed"].items()]
    table = tables.footnote(tables.markdown(["Tool", "time", "of `exact`", "answer"], rows))
    return f"\n{SPEED[row['question']]['title']}:\n\n" + explained(table)


def brief(x, sign=""):
    """Two digits, or more of a large number."""
    return f"{x:{sign}.2g}" if abs(x) < 99.5 else f"{x:{sign},.0f}"


def result(row, what, figure):
    if row["target_epsilon"]:
        true = row["spent"][what]
        found = f"σ {figure['noise_multiplier']:.7g}"
        return found if "error" in true else f"{found}, ε {true['epsilon']:.6f}" + below(row["target_epsilon"], true["lower"])
    if "epsilon" not in figure:
        return ""
    return f"{figure['epsilon']:#.6g}" + below(figure["epsilon"], row["reference"].get("lower", 0))


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds / 1e-6)} µs"


def significant(x):
    return f"{x:.{max(0, 2 - math.floor(math.log10(x)))}f}" if x > 0 else "0"


def explained(table):
    note = "\n† Below the certified lower end of `exact`: the privacy loss is understated.\n"
    return table + note * ("†" in table)


if __name__ == "__main__":
    answer() if sys.argv[1:] == ["answer"] else main()
