# SPDX-License-Identifier: Apache-2.0
# Ranks on three nodes find each other under srun and under mpirun, and see three nodes; a task sees the GPUs that Slurm
# gave it.
for launcher in 'srun --mpi=pmix' mpirun; do
  submit --nodes=3 --ntasks-per-node=2 --gpus-per-node=2 --output=tessera-fit.%j.log --wrap "
    $launcher tessera-info && $launcher bash -c 'echo GPUs \$CUDA_VISIBLE_DEVICES'"
  await 60 job_has_ended "$job"
  log_says '^tessera .*: 6 ranks on 3 nodes, '
  (($(grep -c '^GPUs 0,1$' "$log") == 6))
done
expect_quiet
