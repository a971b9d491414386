# SPDX-License-Identifier: Apache-2.0
# Something kills the fit each time that it goes on, before it comes any further: after the third time the job ends,
# with the reason, in place of going round for ever. Once that something is gone, it goes on to the model.
prepare_fit
sed -i 's|^data=|[[ ! -e broken ]] \|\| export TESSERA_FAULT=kill@rank0\n&|' fit.sbatch
TESSERA_LAUNCHER=srun submit fit.sbatch
freeze 3
touch broken
kill -KILL "$(processes n2 tessera-fit | head -n 1)"
thaw
await 120 job_has_ended "$job"
job_is "$job" FAILED
tail -n 1 "$log" | grep 'no model: three runs came no further (resuming after iteration'
(($(grep -c 'resuming after iteration .* from' "$log") == 3))
expect_quiet
rm broken
scontrol requeue "$job"
expect_model
