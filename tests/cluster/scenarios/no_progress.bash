# SPDX-License-Identifier: Apache-2.0
# A fit that is killed before it makes progress ends after two more starts without progress, with the reason, instead of
# being requeued for ever: every start but the third is killed, and the third progresses. Without the disturbance it
# completes; requeueing it manually does not count as a start.
prepare_fit stops
fault='((${SLURM_RESTART_COUNT:-0} == 2)) || export TESSERA_FAULT=$(<fault)'
sed -i "/^data=/i $fault" fit.sbatch
echo kill@rank0 >fault
TESSERA_LAUNCHER=srun submit fit.sbatch
await_stop 4
kill -KILL "$(processes n2 tessera-fit | head -n 1)"
thaw
await 120 job_has_ended "$job"
job_is "$job" FAILED
tail -n 1 "$log" | grep 'no model: three runs came no further (kept: iteration [3-9]'
(($(grep -c 'back to the queue' "$log") == 4))
(($(grep -c 'resuming after iteration .* from' "$log") == 2))
expect_quiet

echo 'stop@rank*:pass2' >fault
: >"$log"
scontrol requeue "$job"
await_stop 4
: >fault
scontrol requeue "$job"
await 60 log_says 'SIGTERM: asking the ranks to stop' # Slurm may kill the script before it says more
resumed_again() { (($(grep -c 'resuming after iteration' "$log") == 2)); }
await 60 resumed_again
[[ ! -e model.$job.resumes ]]
expect_model
