# SPDX-License-Identifier: Apache-2.0
# The disk that the checkpoint and the model go to is full in the middle of a fit. The job ends, with the reason,
# whether the fit comes to its end or is stopped; and once there is room, it goes on from the last state that it kept.
mkdir disk
mount -t tmpfs -o size=32m tmpfs disk
cd disk
prepare_fit
for end in model stop; do
  submit --output="$cluster/home/tessera-fit.%j.log" fit.sbatch
  freeze 3
  cat /dev/zero >filler 2>/dev/null || true
  [[ $end == model ]] || scancel --batch --signal=USR1 "$job"
  [[ $end == model ]] || await 10 log_says 'SIGUSR1: asking the ranks to stop'
  thaw
  await 60 job_has_ended "$job"
  job_is "$job" FAILED
  log_says 'No space left on device'
  tail -n 1 "$log"
  [[ ! -e $model ]]
  rm filler
  scontrol requeue "$job"
  expect_model
  job_has_resumed
done
