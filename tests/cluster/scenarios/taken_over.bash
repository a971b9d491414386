# SPDX-License-Identifier: Apache-2.0
# taken_over WHAT: the ranks of a fit stand still on n1 while another start gives the model: a `job` of the user's that
# resumes it, or a later `start` of the same job by Slurm, which hears nothing of slurmd on n1. Once the old ranks go
# on, or are killed, the old script ends, and leaves the job to the other, in place of putting it into the queue again.
what=$1
prepare_fit
TESSERA_LAUNCHER=mpirun submit --nodes=1 fit.sbatch
freeze 3
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
