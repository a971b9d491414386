# SPDX-License-Identifier: Apache-2.0
# signals LAUNCHER: the exit status of a fit whose rank on n2 gets a signal. It is the program's if it stops in order;
# otherwise the launcher's for a rank that a signal ended and for ranks that it ends itself by SIGKILL: mpirun reports
# the first, srun the largest.
launcher=$1
prepare_fit
case $launcher in
  srun) expected='TERM 75 KILL 137 SEGV 139 ABRT 137' ;;
  mpirun) expected='TERM 75 KILL 137 SEGV 139 ABRT 134' ;;
esac
cat >signals.sbatch <<END
#!/bin/bash
export SLURM_MPI_TYPE=pmix '$stop_after_3'
$(grep ^formula= fit.sbatch)
for signal in TERM KILL SEGV ABRT; do
  $launcher tessera-fit fit table.csv --formula "\$formula" --family binomial --device cpu --out \$signal.json \\
    --checkpoint \$signal.checkpoint 2>\$signal.log
  echo \$signal \$?
done
END
submit --nodes=2 --ntasks-per-node=2 --output=statuses signals.sbatch

for signal in TERM KILL SEGV ABRT; do
  log=$signal.log
  await_stop 4
  kill -"$signal" "$(processes n2 tessera-fit | head -n 1)"
  thaw
  await 60 grep -q "^$signal " statuses
done
await 30 job_has_ended "$job"
[[ $(grep -xE '[A-Z]+ [0-9]+' statuses | xargs) == "$expected" ]] || fail "$(<statuses)"
expect_quiet
