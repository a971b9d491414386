# SPDX-License-Identifier: Apache-2.0
# The time limit comes without a signal before it, while the ranks can do nothing about it: the job is killed. What
# the user submits in its place, under another id, goes on from its checkpoint.
prepare_fit
sed -i '/^#SBATCH --signal/d' fit.sbatch
submit --time=1 fit.sbatch
freeze 3
await 150 job_has_ended "$job"
job_is "$job" TIMEOUT
expect_quiet
TESSERA_RESUME=$job submit fit.sbatch
expect_model
job_has_resumed
