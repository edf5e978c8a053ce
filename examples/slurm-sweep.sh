#!/usr/bin/env bash
# A sweep as a Slurm job array: each task trains one trial. All nodes see the folder it is submitted in.
#
#   sbatch examples/slurm-sweep.sh my-sweep.yaml
#   train sweep my-sweep.yaml --collect             # at any time: what there is, and which trials are missing
#
# Submitting it again, with the numbers that are missing in --array, goes on where tasks were killed.
#
# To change: the numbers of the trials, from 1 (a drawn number is nobody's to know: `--shard auto/4` and
# 1-4 then); threads, which each task takes all of; time; and how long before the end it stops and saves.
#SBATCH --job-name=sweep
#SBATCH --array=1-12
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
set -euo pipefail

SWEEP=${1:-clip-noise} # a sweep file, or the name of one that comes with the program
RUNS=runs              # on a file system whose locks hold on all nodes: docs/sweeps.md

exec train sweep "$SWEEP" --trial auto --runs-dir "$RUNS"
