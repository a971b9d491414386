# SPDX-License-Identifier: Apache-2.0
# A job that is killed at its time limit without an earlier signal can be submitted again, under another id, and resumes
# from its checkpoint.
prepare_fit stops
sed -i '/^#SBATCH --signal/d' fit.sbatch
submit --time=1 fit.sbatch
await_stop 4
await 150 job_has_ended "$job"
job_is "$job" TIMEOUT
expect_quiet
TESSERA_RESUME=$job submit fit.sbatch
expect_model
job_has_resumed
