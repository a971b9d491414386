# SPDX-License-Identifier: Apache-2.0
# If the disk for the checkpoint and the model fills up during a fit, the job ends with the reason, whether the fit
# completes or is stopped; once there is room, it resumes from the last saved state.
mkdir disk
mount -t tmpfs -o size=32m tmpfs disk
cd disk
prepare_fit stops
for end in model stop; do
  submit --output="$cluster/home/tessera-fit.%j.log" fit.sbatch
  await_stop 4
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
