# SPDX-License-Identifier: Apache-2.0
# If a simulated GPU fails in the first start of a fit that requires GPUs, the job is requeued, and resumes from its
# checkpoint with GPUs.
prepare_fit
fault='[[ -n ${SLURM_RESTART_COUNT-} ]] || export TESSERA_FAULT=throw@rank1:pass6'
sed -i -e 's/--device cpu/--device gpu/' -e "/^data=/i $fault" fit.sbatch
TESSERA_SIMULATE='*:H200' submit --nodes=1 fit.sbatch
await 60 job_has_resumed
log_says 'a GPU is required, but rank 1 ([^)]*) device 0 .* failed in tile'
expect_model
log_says 'computed on 2 simulated devices'
