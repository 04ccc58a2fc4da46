#!/bin/sh
# Self-play on one NVIDIA GPU as a run plays it: the table of docs/performance.md, in under four minutes.
#
#     sh examples/bench_gpu.sh                            # a process for each core, up to 16
#     sh examples/bench_gpu.sh evaluator.precision=float32   # any further settings
set -eu
PYTHON=${PYTHON:-python}
nvidia-smi --query-gpu=name --format=csv,noheader || true
measure() {
  title=$1 games=$2
  shift 2
  printf '%s: ' "$title"
  "$PYTHON" "$(dirname "$0")/bench_processes.py" --games "$games" --seconds 4 \
    search=puct search.num_simulations=64 evaluator.backend=cuda_graphs evaluator.precision=bfloat16 "$@" 2>&1 | tail -1
}
SMALL="network.blocks=6 network.channels=64"
LARGE="network.blocks=10 network.channels=128"
# shellcheck disable=SC2086 # each is several words
{
  measure "Go 9x9, dual_res 6x64" 512 game=go network=dual_res $SMALL "$@"
  measure "Go 9x9, pooled_res 6x64" 512 game=go network=pooled_res $SMALL "$@"
  measure "Go 19x19, dual_res 10x128" 256 game=go game.board_size=19 network=dual_res $LARGE "$@"
  measure "chess, dual_res 10x128" 512 game=chess network=dual_res $LARGE "$@"
}
