"""Matrix products against torch.mm, taking turns: the Go half is gemm_test.go, this file is the other half and, run as a
program, one measurement of it."""

import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

SHAPES = ["1024x1024x1024", "256x1000x784", "1024x32x288", "256x64x288", "256x64x576", "64x128x576", "64x128x1152"]  # m×n×k
THREADS = [1, 2]

# A line such as "BenchmarkGemm/256x64x288/threads=2-2    780    156622 ns/op    60.25 GFLOP/s".
LINE = re.compile(r"^Benchmark(?:Gemm/|FMA)(\w+)/threads=(\d+)(?:-\d+)?\s.*\s([\d.]+) GFLOP/s", re.MULTILINE)


def compare(a, scratch, environment):
    """Figures of all shapes: rows of {shape, threads, rounds: {ours: [...], torch: [...]}}."""
    binary = scratch / "gemm.test"
    subprocess.run(["go", "test", "-c", "-o", binary, "./bench"], cwd=HERE.parent, check=True)
    rows = {(s, t): {"shape": s, "threads": t, "rounds": {"ours": [], "torch": []}} for s in [*SHAPES, "limit"] for t in THREADS}
    seconds = a.seconds / len(SHAPES)
    for number in range(a.rounds):
        for threads in THREADS:
            print(f"products on {threads} threads, round {number + 1}/{a.rounds}", file=sys.stderr, flush=True)
            for shape, rate in ours(binary, threads, seconds).items():
                rows[shape, threads]["rounds"]["ours"].append({"gflops": rate})
            for shape, figures in theirs(threads, seconds, environment).items():
                rows[shape, threads]["rounds"]["torch"].append(figures)
    return list(rows.values())


def ours(binary, threads, seconds):
    """GFLOP/s by shape, and under the name limit that of multiply-adds in registers."""
    chosen = ["-test.run", "^$", "-test.bench", f"^BenchmarkGemm$/./^threads={threads}$|^BenchmarkFMALimit$/^threads={threads}$"]
    p = subprocess.run([binary, *chosen, "-test.benchtime", f"{seconds}s"], capture_output=True, text=True, check=True)
    return {("limit" if shape == "Limit" else shape): float(rate) for shape, found, rate in LINE.findall(p.stdout) if int(found) == threads}


def theirs(threads, seconds, environment):
    command = [sys.executable, Path(__file__), str(threads), str(seconds)]
    p = subprocess.run(command, env=environment(threads), capture_output=True, text=True, check=True)
    return json.loads(p.stdout.splitlines()[-1])


def measure(threads, seconds):
    """One measurement of each shape by torch.mm."""
    import torch

    torch.set_num_threads(threads)
    figures = {}
    for shape in SHAPES:
        m, n, k = map(int, shape.split("x"))
        a, b, c = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        block = max(1, round(2e8 / (m * n * k)))  # a few milliseconds between two looks at the clock
        for _ in range(2 * block):
            torch.mm(a, b, out=c)
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(block):
                torch.mm(a, b, out=c)
            done += block
        elapsed = time.perf_counter() - start
        figures[shape] = {"gflops": 2 * m * n * k * done / elapsed / 1e9, "versions": {"torch": torch.__version__}}
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), float(sys.argv[2]))))
