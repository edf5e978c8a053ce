"""Measures one peer on one network in a process of its own and prints one line of JSON. compare.py calls it."""

import argparse
import importlib
import json
import resource
import statistics
import sys
import time

from networks import NETWORKS

WARM_UP, FEWEST = 2, 3  # steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", help="library-variant: torch-default, torch-channels-last, opacus-ghost, jax-privacy, ...")
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    a = parser.parse_args()

    library, _, variant = a.peer.partition("-")
    peer = importlib.import_module("peer_jax" if library == "jax" else "peer_torch")
    step, parameters = peer.prepare(a.network, a.batch, a.threads, variant)
    if parameters != NETWORKS[a.network][2]:
        sys.exit(f"{a.network} has {parameters} parameters, expected {NETWORKS[a.network][2]}")
    times, faults = repeat(step, a.seconds)
    milliseconds = 1e3 * statistics.median(times)
    print(json.dumps({
        "peer": a.peer, "model": a.network, "batch": a.batch, "threads": a.threads,
        "examples_per_second": 1e3 * a.batch / milliseconds, "step_ms": milliseconds, "steps": len(times),
        "page_faults_per_step": faults / len(times), "peak_rss_mib": peak_rss_mib(), "versions": peer.versions(),
    }))


def repeat(step, seconds):
    """Times of steps after a warm-up of a fifth of the time, and the page faults that they took together."""
    start = time.perf_counter()
    warmed = 0
    while warmed < WARM_UP or time.perf_counter() - start < seconds / 5:
        step()
        warmed += 1
    times = []
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    start = time.perf_counter()
    while len(times) < FEWEST or time.perf_counter() - start < seconds:
        begun = time.perf_counter()
        step()
        times.append(time.perf_counter() - begun)
    return times, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults


def peak_rss_mib():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)  # bytes there, KiB elsewhere


if __name__ == "__main__":
    main()
