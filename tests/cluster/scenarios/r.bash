# SPDX-License-Identifier: Apache-2.0
# tessera_bam() in a batch job of three nodes fits by srun: the script of R's tests for launchers, whose files are in the
# home that all nodes share.
tests=$prefix/../../../r
if [[ ! -d $tests/library/tessera ]]; then
  echo "SKIPPED: the R package is not installed (scripts/install-packages r)"
  exit 77
fi
mkdir "$cluster/home/temporary"
submit --nodes=3 --ntasks-per-node=2 --output=tessera-fit.%j.log --wrap "
  export R_LIBS='$tests/library' TMPDIR=$cluster/home/temporary TESSERA_LAUNCHER='srun --mpi=pmix'
  Rscript '$tests/scripts/launch.R'"
await 300 job_has_ended "$job"
! log_says 'no launcher' || fail "the script has not run"
job_is "$job" COMPLETED || fail "job $job is $(job_field "$job" JobState)"
expect_quiet
