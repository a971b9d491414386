#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rehearses a fit on GPUs that are simulated, e.g. on a login node: who drives what, and the model. Needs no Slurm.
# Edit: ranks; the devices of each rank, e.g. "rank0:2xH200; rank1:T4"; data and formula.
ranks=2
export TESSERA_SIMULATE='*:2xH200'
TESSERA_LAUNCHER="mpirun -np $ranks --oversubscribe --bind-to none"
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run tessera-info
data=$examples/diamonds/diamonds.csv.gz
formula='lprice ~ cut + color + clarity + s(lcarat, bs="ps", k=20) + s(depth, bs="ps", k=15) + s(table, bs="ps", k=12)'
fit "$data" --formula "$formula" --device gpu
