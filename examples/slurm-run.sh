#!/usr/bin/env bash
# One run on many ranks under Slurm, over MPI.
#
#   sbatch examples/slurm-run.sh my-config.yaml
#
# A run that was stopped or killed goes on from its checkpoint, on any number of ranks: put
# `resume runs/NAME` in place of `run "$CONFIG"` below.
#
# To change: the number of ranks, threads of each, time. A job that Slurm starts again would begin another
# run, which spends anew: hence --no-requeue. With `resume` in its place --requeue is right.
#SBATCH --job-name=train
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
#SBATCH --no-requeue
set -euo pipefail

CONFIG=${1:-mnist-cnn} # a configuration, or the name of one that comes with the program
RUNS=runs              # rank 0 alone writes there

# A rank that fails ends the others, which would wait for it until the time is over. srun does not take
# --cpus-per-task from the job by itself (Slurm 22.05 and later). Where Slurm starts another MPI than the
# one that is installed, `srun --mpi=list` shows which there are.
srun --kill-on-bad-exit=1 --cpus-per-task="${SLURM_CPUS_PER_TASK:-2}" train-mpi run "$CONFIG" --runs-dir "$RUNS"
