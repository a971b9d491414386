# SPDX-License-Identifier: Apache-2.0
# A rank of the last task of an array is killed: that task goes back into the queue, alone. It is the one whose own id
# is the array's too, so that what is done to this id is done to all tasks.
prepare_fit
export TESSERA_LAUNCHER=srun
submit --array=0-2 --nodes=1 --output=tessera-fit.%A_%a.log fit.sbatch
array=$job job=${job}_2
log=$cluster/home/tessera-fit.$job.log
freeze 3
[[ $(scontrol show job "$job") == "JobId=$array "* ]]
kill -KILL "$(processes "$(job_field "$job" NodeList)" tessera-fit | head -n 1)"
thaw
for task in 0 1 2; do
  job=${array}_$task model=model.${array}_$task.json
  expect_model
  (($(job_field "$job" Restarts) == (task == 2)))
done
job_has_resumed
