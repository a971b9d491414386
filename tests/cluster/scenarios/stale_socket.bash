# SPDX-License-Identifier: Apache-2.0
# Where a node was lost, the socket of the job's first step may be left, under the name that the job's next start
# needs. What is in the way is a plain file here, which is the same to bind(). The script tries again; once where no
# rank is started, and srun ends with status 0, and once where some are.
prepare_fit
for places in 'n1 n2' n2; do
  TESSERA_LAUNCHER=srun submit --hold fit.sbatch
  for node in $places; do
    touch "$cluster/spool/$node/stepd.slurm.pmix.$job.0"
  done
  scontrol release "$job"
  expect_model
  log_says 'try 1: the step was not started on all nodes'
done
