# SPDX-License-Identifier: Apache-2.0
# Something kills all starts of the fit but the third before they come any further. Starts count that add nothing to
# what is kept: the third does, though the two before it began where it begins; after two more the job ends, with the
# reason, in place of going round for ever. Once that something is gone, it goes on to the model; that it is put back
# once more by hand meanwhile is no failure.
prepare_fit
broken='((${SLURM_RESTART_COUNT:-0} != 2)) \&\& [[ ! -e mended ]]'
sed -i "s|^data=|if $broken; then export TESSERA_FAULT=kill@rank0; fi\n&|" fit.sbatch
TESSERA_LAUNCHER=srun submit fit.sbatch
freeze 3
kill -KILL "$(processes n2 tessera-fit | head -n 1)"
thaw
await 120 job_has_ended "$job"
job_is "$job" FAILED
tail -n 1 "$log" | grep 'no model: three runs came no further (kept: iteration [3-9]'
(($(grep -c 'back to the queue' "$log") == 4))
(($(grep -c 'resuming after iteration .* from' "$log") == 2))
expect_quiet

touch mended
: >"$log"
scontrol requeue "$job"
await 60 log_says 'iteration [0-9]*:'
scontrol requeue "$job"
await 60 log_says 'told to end'
[[ ! -e model.$job.resumes ]]
expect_model
