#!/bin/sh
# The rows of the speed table for one GPU: networks of 128 x 10 and 256 x 20, in three games.
#
#     sh examples/bench_gpu.sh                                    # all six, about 20 minutes
#     GAMES=1024 SIMULATIONS=800 sh examples/bench_gpu.sh         # other sizes
#     sh examples/bench_gpu.sh evaluator.backend=compile           # with torch.compile
#     sh examples/bench_gpu.sh "peers=[pgx]"                      # any further settings
#
# Writes bench_GAME_CHANNELSxBLOCKS.json, and next to each a trace of GPU utilisation during self-play
# (bench_..._utilization.csv).
set -eu
PYTHON=${PYTHON:-python}
for network in 128x10 256x20; do
  for game in go chess shogi; do
    board=
    if [ "$game" = go ]; then board=game.board_size=19; fi
    "$PYTHON" -m azcore command=bench "game=$game" $board device=cuda \
      "bench.channels=${network%x*}" "bench.blocks=${network#*x}" "bench.num_games=${GAMES:-2048}" \
      "search.num_simulations=${SIMULATIONS:-100}" "bench.path=bench_${game}_$network.json" "$@"
  done
done
