# SPDX-License-Identifier: Apache-2.0
# time_limit LAUNCHER: Slurm's signal before the time limit stops the fit; the job requeues itself, and completes with
# the model of an undisturbed run.
export TESSERA_LAUNCHER=$1
prepare_fit stops
submit --time=1 --signal=B:USR1@60 fit.sbatch
await_stop 4
await 90 log_says 'SIGUSR1: asking the ranks to stop'
thaw
await 60 job_has_resumed
log_says 'exit status 75; back to the queue'
expect_model
