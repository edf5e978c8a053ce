#!/usr/bin/env python3
"""Compares training speed with PyTorch, Opacus and JAX Privacy on this machine, and prints tables in Markdown.

Every measurement is a process of its own. Ours and the peers' take turns, so that a machine that slows down slows all of
them; each figure is the median over the rounds. Run it with the Python that has the peers installed, see README.md.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the checkout

import gemm
import tables
from networks import FILES, NETWORKS

HERE = Path(__file__).resolve().parent

# By the module that has to be installed. The first group trains without privacy, the second privately.
PEERS = {
    "torch": ["torch-default", "torch-channels-last"],
    "opacus": ["opacus-hooks", "opacus-functorch", "opacus-ew", "opacus-ghost"],
    "jax_privacy": ["jax-privacy"],
}
ON_REQUEST = [f"opacus-{mode}-channels-last" for mode in ("hooks", "functorch", "ew", "ghost")]

# From the third round on, a peer whose best round is below this share of the best of its library is left out: the best
# one counts. One round would be too few to tell; other work on the machine slows PyTorch by a factor of ten and more.
KEEP = 0.7

# More than this beyond the asked time, and a measurement has failed.
PATIENCE = 600  # seconds


def main():
    a = arguments()
    a.load = os.getloadavg()[0]
    if a.load > 0.5:
        say(f"the load average is {a.load:.1f}: something else runs on this machine, and the figures will be wrong")
    with tempfile.TemporaryDirectory() as scratch:
        if a.gemm:
            report = gemm.compare(a, Path(scratch), peer_environment)
            text = tables.gemm(report)
        else:
            program = a.train or build(Path(scratch))
            run = versions if a.before else compare
            report = [run(a, program, network, batch) for network in a.networks for batch in a.batches]
            text = tables.versions(report) if a.before else tables.training(report)
    print(heading(a, report) + "\n" + text)
    if a.json:
        Path(a.json).write_text(json.dumps(report, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    installed = [p for module, peers in PEERS.items() if importlib.util.find_spec(module) for p in peers]
    known = [p for peers in PEERS.values() for p in peers] + ON_REQUEST
    words = lambda choices: lambda text: chosen(parser, text, choices)
    numbers = lambda text: [int(x) for x in text.split(",")]
    parser.add_argument("--networks", type=words(list(NETWORKS)), default=list(NETWORKS), help="separated by commas; default: all")
    parser.add_argument("--batches", type=numbers, default=[64, 256, 1024], help="default: 64,256,1024")
    parser.add_argument("--peers", type=words(known), default=installed, help="default: those installed, of " + ", ".join(known))
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement; default: %(default)s")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    parser.add_argument("--train", help="the program to measure; default: built from this checkout")
    parser.add_argument("--before", help="another built version of the program: compare private steps of the two, and no peers")
    parser.add_argument("--json", help="file for all figures of all rounds")
    parser.add_argument("--gemm", action="store_true", help="compare matrix products with torch.mm, on 1 and 2 threads, instead of training")
    a = parser.parse_args()
    if min(a.rounds, a.threads, *a.batches) < 1 or not a.seconds > 0:
        parser.error("rounds, threads, batches and seconds must be positive")
    return a


def chosen(parser, text, choices):
    names = text.split(",")
    for name in names:
        if name not in choices:
            parser.error(f"found {name!r}, expected one of {', '.join(choices)}")
    return names


def build(scratch):
    program = scratch / "train"
    subprocess.run(["go", "build", "-o", program, "./cmd/train"], cwd=HERE.parent, check=True)
    return program


def compare(a, program, network, batch):
    """All rounds of one network at one batch size: {what: [figures of a round, ...]}, and what failed and why."""
    rounds = {"ours-private": [], "ours-plain": []}
    failed = {}
    for number in range(a.rounds):
        peers = [p for p in a.peers if p not in failed and (number < 2 or competitive(p, rounds))]
        for what in ["ours-private", *peers, "ours-plain"]:
            command = ours(a, program, network, batch, what) if what.startswith("ours") else peer(a, network, batch, what)
            try:
                rounds.setdefault(what, []).append(measure(command, a.seconds))
                say(f"{network}, batch {batch}, round {number + 1}/{a.rounds}: {what} {rounds[what][-1]['examples_per_second']:,.0f} examples/s")
            except MeasurementError as e:
                if what.startswith("ours"):
                    sys.exit(f"{what} on {network}, batch {batch}: {e}")
                failed[what] = str(e)
                rounds.pop(what, None)
                say(f"{network}, batch {batch}: {what} is n/a: {e}")
    return {"network": network, "batch": batch, "threads": a.threads, "rounds": rounds, "failed": failed}


def versions(a, program, network, batch):
    """All rounds of private steps of two versions of this project, which take turns in going first."""
    rounds = {"before": [], "now": []}
    for number in range(a.rounds):
        pair = [("before", a.before), ("now", program)]
        for what, version in pair[::-1] if number % 2 else pair:
            rounds[what].append(measure(ours(a, version, network, batch, "ours-private"), a.seconds))
            say(f"{network}, batch {batch}, round {number + 1}/{a.rounds}: {what} {rounds[what][-1]['step_ms']:.3f} ms")
    return {"network": network, "batch": batch, "threads": a.threads, "rounds": rounds, "failed": {}}


def competitive(peer, rounds):
    """Whether a peer may still turn out to be the best of its library."""
    rate = lambda p: max(f["examples_per_second"] for f in rounds[p])
    library = peer.partition("-")[0]
    return rate(peer) >= KEEP * max(rate(p) for p in rounds if p.startswith(library + "-"))


def ours(a, program, network, batch, what):
    which = ["--config", HERE / FILES[network]] if network in FILES else ["--model", network]
    command = [program, "bench", *which, "--mode", what.removeprefix("ours-"), "--json"]
    return command + ["--batch", str(batch), "--threads", str(a.threads), "--seconds", str(a.seconds)], None


def peer(a, network, batch, what):
    command = [sys.executable, "-W", "ignore", HERE / "measure.py", what, network]
    command += ["--batch", str(batch), "--threads", str(a.threads), "--seconds", str(a.seconds)]
    return command, peer_environment(a.threads)


def peer_environment(threads):
    """The environment of Python: as many threads, and a C library that keeps freed memory instead of giving it back to the
    system and faulting it in again in every step. PyTorch gains up to a factor of two by that."""
    keep = str(4 << 30)
    return os.environ | {
        "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_TRIM_THRESHOLD_": keep, "MALLOC_MMAP_THRESHOLD_": keep, "MALLOC_MMAP_MAX_": "0", "MALLOC_TOP_PAD_": str(64 << 20),
    }


class MeasurementError(Exception):
    pass


def measure(command, seconds):
    """The JSON on the last line of what a process prints."""
    arguments, environment = command
    try:
        p = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=seconds + PATIENCE)
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"not done after {seconds + PATIENCE:.0f} seconds") from None
    if p.returncode != 0:
        lines = [line for line in p.stderr.splitlines() if line.strip()] or [f"ended by signal {-p.returncode}" if p.returncode < 0 else "no message"]
        raise MeasurementError(lines[-1].strip())
    return json.loads(p.stdout.splitlines()[-1])


def say(line):
    print(line, file=sys.stderr, flush=True)


def heading(a, report):
    """Where, when and how the figures were measured."""
    figures = [f for row in report for values in row["rounds"].values() for f in values]
    versions = {name: v for f in figures for name, v in f.get("versions", {}).items()}
    kernels = {f["kernel"] for f in figures if "kernel" in f}
    limits = [f["fma_limit_gflops"] for f in figures if "fma_limit_gflops" in f]
    lines = [
        f"- Machine: {processor()}, {platform.system()} {platform.machine()}" + "".join(f", {k} kernels" for k in sorted(kernels)),
        f"- Date: {datetime.date.today()}; load average before the run {a.load:.1f}",
        f"- Command: `python {shlex.join(['bench/compare.py', *sys.argv[1:]])}`",
        f"- Peers: {', '.join(f'{n} {v}' for n, v in sorted(versions.items())) or 'none'}, Python {platform.python_version()}",
    ]
    if limits:
        lines.insert(1, f"- Threads: {a.threads}, which reach {statistics.median(limits):.0f} GFLOP/s in multiply-adds")
    return "\n".join(lines) + "\n"


def processor():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return f"{found[1] if found else platform.processor() or 'unknown processor'}, {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
