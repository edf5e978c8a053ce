#!/usr/bin/env python3
"""Compares steps of one process with steps of several ranks, and prints tables in Markdown.

  ranks.py cores     2 ranks of 1 thread beside 1 process of 2 threads, on this machine
  ranks.py network   2 ranks in network namespaces with delay and limited speed, beside what `train plan` expects (root, Linux)

The time of a step is that of a long run less that of a short one, over the steps between them. Every run is a process of its own, or
a group of them; they take turns, and each figure is the median over the rounds. The ranks are started by Open MPI's mpirun.
"""

import argparse
import json
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the checkout

ROOT = Path(__file__).resolve().parent.parent

# By name: preset, what is overridden, batches, steps of a short run, and how many more a long one has.
NETWORKS = {
    "mnist-cnn": ("mnist-cnn", [], [512], 20, 500),
    "cifar-cnn": ("cifar-cnn", [], [256], 5, 50),
    "resnet8-gn": ("cifar-cnn", ["model.name=resnet8-gn"], [256], 5, 50),
}

# Delay in one direction and bits a second.
LINES = [("0.1ms", "1Gb"), ("1ms", "1Gb"), ("1ms", "100Mb")]

# Open MPI refuses to start ranks as root, such as in a container, and binds two ranks to a core each.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def main():
    a = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        a.scratch = Path(scratch)
        for name, tags in (("train", ""), ("train-mpi", "mpi")):
            subprocess.run(["go", "build", "-tags", tags, "-o", a.scratch / name, "./cmd/train"], cwd=ROOT, check=True)
        print(f"load average at the start: {os.getloadavg()[0]:.1f}\n", file=sys.stderr)
        (cores if a.what == "cores" else network)(a)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["cores", "network"])
    p.add_argument("--networks", type=lambda t: t.split(","), default=list(NETWORKS), help="separated by commas; default: all")
    p.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    p.add_argument("--data-dir", default=os.environ.get("DPSGD_DATA", "datasets"), help="folder with mnist and cifar-10")
    p.add_argument("--mpirun", default="mpirun --bind-to none", help="default: %(default)s")
    return p.parse_args()


def cores(a):
    """Steps of 2 ranks of 1 thread beside those of 1 process of 2 threads."""
    print("| network | batch | 1 process of 2 threads, ms | 2 ranks of 1 thread, ms | ratio | ratios of the rounds |\n|---|---|---|---|---|---|")
    for name, batch in cases(a):
        alone, ranks = [], []
        for _ in range(a.rounds):
            alone.append(step(a, name, batch, [a.scratch / "train"], 2))
            ranks.append(step(a, name, batch, [*shlex.split(a.mpirun), "-n", "2", a.scratch / "train-mpi"], 1))
        each = sorted(r / one for r, one in zip(ranks, alone))
        one, two = statistics.median(alone), statistics.median(ranks)
        print(f"| {name} | {batch} | {one:.1f} | {two:.1f} | {two / one:.2f} | {each[0]:.2f} to {each[-1]:.2f} |", flush=True)


def network(a):
    """Steps of 2 ranks in namespaces beside what the model expects of the parts that it measures. The line is a program, which takes
    time of the cores that the ranks compute on, as a network card would not: so the same without delay, at 100 Gb/s."""
    subprocess.run(["go", "build", "-o", a.scratch / "link", "./bench"], cwd=ROOT, check=True)
    print("| network | batch | delay | rate | expected, ms | measured, ms | difference | without the line, ms "
          "| a line without delay adds, ms | difference without that |\n|---|---|---|---|---|---|---|---|---|---|")
    for delay, rate in LINES:
        for name, batch in cases(a):
            expected, measured, near, line = [], [], [], []
            for _ in range(a.rounds):
                expected.append(plan(a, name, batch, delay, rate))
                near.append(step(a, name, batch, [*shlex.split(a.mpirun), "-n", "2", a.scratch / "train-mpi"], 1))
                for of, times in ((("0ms", "100Gb"), line), ((delay, rate), measured)):
                    with namespaces(a, *of):
                        times.append(step(a, name, batch, [*in_namespaces(a), a.scratch / "train-mpi"], 1))
            e, m, n, l = (statistics.median(times) for times in (expected, measured, near, line))
            difference = lambda x: f"{100 * (x / e - 1):+.0f} %"
            print(f"| {name} | {batch} | {delay} | {rate} | {e:.1f} | {m:.1f} | {difference(m)} | {n:.1f} | {l - n:+.1f} | {difference(m - (l - n))} |", flush=True)


def cases(a):
    return [(name, batch) for name in a.networks for batch in NETWORKS[name][2]]


def overrides(name, batch, threads):
    # Physical batches that samples fill, up to two deviations of their size: then nobody computes more padding than others.
    most = batch + 2 * batch**0.5
    physical = math.ceil(most / math.ceil(most / 128))
    keys = NETWORKS[name][1] + [f"training.batch_size={batch}", f"training.physical_batch_size={physical}", f"performance.threads={threads}"]
    keys += ["privacy.noise_multiplier=1", "privacy.epsilon=none", "run.checkpoint_every=0", "training.evaluate_every=0"]
    return [word for key in keys for word in ("--set", key)]


def step(a, name, batch, program, threads):
    """Milliseconds of a step."""
    few, more = NETWORKS[name][3:]
    short, long = (seconds(a, name, program, [*overrides(name, batch, threads), "--set", f"training.steps={n}"]) for n in (few, few + more))
    return 1e3 * (long - short) / more


def seconds(a, name, program, keys):
    """The time of a run, from its first checkpoint to its result."""
    with tempfile.TemporaryDirectory(dir=a.scratch) as runs:
        options = ["--data-dir", os.path.abspath(a.data_dir), "--runs-dir", runs]
        return json.loads(output([*program, "run", NETWORKS[name][0], "--json", *options, *keys], ENVIRONMENT))["seconds"]


def plan(a, name, batch, delay, rate):
    """Milliseconds of a step of 2 ranks as the model expects them. The ranks will share this machine, and so two measure at once."""
    command = [a.scratch / "train", "plan", NETWORKS[name][0], "--json", "--ranks", "2", "--network", rate, "--latency", delay, *overrides(name, batch, 1)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    return statistics.mean(row["step_ms"] for p in both for row in json.loads(p.communicate()[0])["rows"] if row["ranks"] == 2)


def output(command, environment):
    """What a command prints, and on failure what it had to say about that."""
    done = subprocess.run([str(word) for word in command], env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


# An agent stands where mpirun has ssh: it is told a host and a command, and runs the command in that host's namespace, in which
# the host has a name of its own; Open MPI would use shared memory otherwise.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=${1##*.}; shift
exec ip netns exec rank$((host - 1)) unshare --uts sh -c "hostname host$host; $*"
"""


class namespaces:
    """Two network namespaces, rank0 and rank1, with the addresses 10.77.0.1 and 10.77.0.2, and a line between them."""

    def __init__(self, a, delay, rate):
        self.line = [str(a.scratch / "link"), "-delay", delay, "-rate", rate, "wire0", "wire1"]
        self.agent = a.scratch / "agent"

    def __enter__(self):
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)
        # The line needs a core for a moment now and then, at once, and the ranks have them all.
        self.link = subprocess.Popen(["chrt", "-f", "2", *self.line], stdout=subprocess.PIPE, text=True)
        if self.link.stdout.readline() != "ready\n":
            sys.exit("the line does not come up")
        for i in range(2):
            for command in (f"netns add rank{i}", f"link set wire{i} netns rank{i}", f"-n rank{i} link set lo up",
                            f"-n rank{i} addr add 10.77.0.{i + 1}/24 dev wire{i}", f"-n rank{i} link set wire{i} mtu 9000 txqueuelen 10000 up"):
                subprocess.run(["ip", *command.split()], check=True)

    def __exit__(self, *_):
        self.link.send_signal(signal.SIGTERM)
        self.link.wait()
        for i in range(2):
            subprocess.run(["ip", "netns", "del", f"rank{i}"], check=True)


def in_namespaces(a):
    """Starts one rank in each namespace, which talk TCP over the line alone."""
    only = "10.77.0.0/24"
    return ["ip", "netns", "exec", "rank0", "unshare", "--uts", "sh", "-c", 'hostname host1; exec "$@"', "sh",
            *shlex.split(a.mpirun), "-n", "2", "--host", "10.77.0.1,10.77.0.2", "--mca", "plm_rsh_agent", a.scratch / "agent",
            "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", only, "--mca", "oob_tcp_if_include", only]


if __name__ == "__main__":
    main()
