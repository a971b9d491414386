# SPDX-License-Identifier: Apache-2.0
# taken_over WHAT: the ranks of a fit hang on n1 while another start computes the model: a `job` that the user submits
# to resume it, or a later `start` of the same job by Slurm, which cannot reach slurmd on n1. Once the old ranks resume,
# or are killed, the old script ends without requeueing the job.
what=$1
prepare_fit stops
TESSERA_LAUNCHER=mpirun submit --nodes=1 fit.sbatch
await_stop 2
old=$job old_log=$log
case $what in
  job)
    TESSERA_RESUME=$job submit --nodes=1 fit.sbatch
    await 60 job_has_ended "$job"
    thaw
    ;;
  start)
    kill -KILL "$(processes n1 slurmd | head -n 1)"
    await 60 job_has_resumed
    await 60 job_has_ended "$job"
    pkill -KILL --exact tessera-fit
    ;;
esac
job_has_resumed
await 60 grep -q 'but a later start of the job has taken over: left to it' "$old_log"
if [[ $what == job ]]; then
  await 60 job_is "$old" FAILED
else
  on_node n1 slurmd
  await 60 node_is n1 idle
fi
(($(job_field "$old" Restarts) == $([[ $what == job ]] && echo 0 || echo 1)))
expect_model
