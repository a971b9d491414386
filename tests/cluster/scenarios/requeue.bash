# SPDX-License-Identifier: Apache-2.0
# A job whose rank is killed while slurmctld is down is requeued once slurmctld is back. A job that may not be requeued
# ends at once, with Slurm's reason.
prepare_fit stops
export TESSERA_LAUNCHER=mpirun
submit --nodes=1 --no-requeue fit.sbatch
await_stop 2
pkill -KILL --exact tessera-fit
await 30 job_has_ended "$job"
job_is "$job" FAILED
tail -n 1 "$log" | grep 'could not be put back into the queue: Requested operation is presently disabled'

submit --nodes=1 fit.sbatch
await_stop 2
pkill --exact slurmctld
await 30 eval '! pgrep --exact slurmctld >/dev/null'
pkill -KILL --exact tessera-fit
await 60 log_says 'trying again to put job 2 back into the queue'
slurmctld
await 60 job_has_resumed
expect_model
