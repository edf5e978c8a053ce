#!/usr/bin/env bash
# A sweep by GNU parallel: TASKS tasks, JOBS of them at a time, each with its share of the threads.
#
#   examples/parallel-sweep.sh my-sweep.yaml
#
# Given again after a kill, it goes on. On one machine `train sweep FILE --jobs N` does the same in one
# process; this script is for several, which share the present folder: add `--sshlogin a,b --workdir .`.
set -euo pipefail

SWEEP=${1:-clip-noise} # a sweep file, or the name of one that comes with the program
RUNS=runs
TASKS=4
JOBS=2

THREADS=$(($(nproc) / JOBS))
export GOMAXPROCS=$((THREADS > 0 ? THREADS : 1)) # for configurations that do not say performance.threads
seq "$TASKS" | parallel --quote --jobs "$JOBS" --env GOMAXPROCS train sweep "$SWEEP" --shard "{}/$TASKS" --runs-dir "$RUNS"
train sweep "$SWEEP" --collect --runs-dir "$RUNS"
