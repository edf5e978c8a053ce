"""Tables in Markdown."""

import statistics


def markdown(heading, rows):
    """A table whose first column is text and the others are numbers."""
    lines = ["| " + " | ".join(heading) + " |", "|" + "|".join(["---"] + ["--:"] * (len(heading) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def training(report):
    heading = [
        "Network, batch", "private, examples/s", "plain, examples/s", "private / plain time", "private, GFLOP/s", "MiB private / plain",
        "PyTorch, not private", "ratio", "Opacus, best mode", "ratio",
    ]
    with_jax = any("jax-privacy" in row["rounds"] for row in report)
    if with_jax:
        heading += ["JAX Privacy", "ratio"]
    rows = []
    for row in report:
        rate = lambda what: median(row, what, "examples_per_second")
        private, plain = rate("ours-private"), rate("ours-plain")
        cells = [
            f"{row['network']}, {row['batch']}", rated(row, "ours-private"), rated(row, "ours-plain"), f"{plain / private:.2f}",
            f"{median(row, 'ours-private', 'gflops'):.0f}", " / ".join(f"{median(row, w, 'peak_rss_mib'):.0f}" for w in ("ours-private", "ours-plain")),
        ]
        for library in ["torch", "opacus"] + ["jax"] * with_jax:
            cells += against(row, library, private)
        rows.append(cells)
    return footnote(markdown(heading, rows))


def rated(row, what):
    return f"{median(row, what, 'examples_per_second'):,.0f}" + mark(row, what, "examples_per_second")


def median(row, what, figure):
    return statistics.median(f[figure] for f in row["rounds"][what])


# Rounds that differ by more than this factor say more about the machine than about the program.
STEADY = 1.25


def mark(row, what, figure):
    """A star for a figure that was not steady."""
    values = [f[figure] for f in row["rounds"][what]]
    return " *" if max(values) > STEADY * min(values) else ""


def footnote(table):
    note = f"\n\\* The rounds differ by more than a factor of {STEADY}: the machine was busy, and the figure is no measurement.\n"
    return table + note * (" * |" in table or " * (" in table)


def against(row, library, private):
    """The best variant of a library, and our private examples a second divided by its."""
    variants = [w for w in row["rounds"] if w.startswith(library + "-")]
    if not variants:
        return ["n/a", "n/a"]
    best = max(variants, key=lambda w: median(row, w, "examples_per_second"))
    rate = median(row, best, "examples_per_second")
    name = "" if library == "jax" else f" ({best.removeprefix(library + '-')})"
    return [rated(row, best) + name, f"{private / rate:.2f}"]


def gemm(report):
    limits = {row["threads"]: row for row in report if row["shape"] == "limit"}
    rows = []
    for row in report:
        if row["shape"] == "limit":
            continue
        ours, torch, limit = (median(r, w, "gflops") for r, w in ((row, "ours"), (row, "torch"), (limits[row["threads"]], "ours")))
        rows.append([
            f"{row['shape'].replace('x', '×')}, {row['threads']}", f"{ours:.0f}" + mark(row, "ours", "gflops"), f"{torch:.0f}" + mark(row, "torch", "gflops"),
            f"{ours / torch:.2f}", f"{100 * ours / limit:.0f} %",
        ])
    return footnote(markdown(["m×n×k, threads", "ours, GFLOP/s", "torch.mm, GFLOP/s", "ratio", "of the FMA limit"], rows))


def versions(report):
    """Private steps of two versions of this project: medians, and the median of the ratios of each round."""
    lines = ["| Network, batch | before, ms | now, ms | now / before |", "|---|--:|--:|--:|"]
    for row in report:
        before, now = ([f["step_ms"] for f in row["rounds"][what]] for what in ("before", "now"))
        ratio = statistics.median(n / b for b, n in zip(before, now))
        lines.append(f"| {row['network']}, {row['batch']} | {statistics.median(before):.3f} | {statistics.median(now):.3f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"
