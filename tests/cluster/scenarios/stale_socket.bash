# SPDX-License-Identifier: Apache-2.0
# The script tries again if the socket of the job's first step is left from a lost node, under the name that the next
# start needs. Here a plain file is in the way, which is the same to bind(). Once no rank is started and srun ends with
# status 0, and once some are.
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
