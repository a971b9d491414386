# SPDX-License-Identifier: Apache-2.0
# After a rank of an array's last task was killed, only that task is requeued. Its own id equals the array's id, so a
# command on this id applies to all tasks.
prepare_fit stops
export TESSERA_LAUNCHER=srun
submit --array=0-2 --nodes=1 --output=tessera-fit.%A_%a.log fit.sbatch
array=$job job=${job}_2
log=$cluster/home/tessera-fit.$job.log
await_stop 6
[[ $(scontrol show job "$job") == "JobId=$array "* ]]
kill -KILL "$(processes "$(job_field "$job" NodeList)" tessera-fit | head -n 1)"
thaw
for task in 0 1 2; do
  job=${array}_$task model=model.${array}_$task.json
  expect_model
  (($(job_field "$job" Restarts) == (task == 2)))
done
job_has_resumed
