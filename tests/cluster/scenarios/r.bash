# SPDX-License-Identifier: Apache-2.0
# tessera_bam() in a batch job of three nodes fits by srun: the script of R's tests for launchers. Nodes see neither this
# machine's /tmp nor a build tree in it, so the package and the script are copied to the home that all share; the library
# is that of the installed tree.
tests=$prefix/../../../r
if [[ ! -d $tests/library/tessera ]]; then
  echo "SKIPPED: the R package is not installed (scripts/install-packages r)"
  exit 77
fi
mkdir "$cluster/home/temporary"
cp -R "$tests/library" "$tests/scripts/launch.R" "$cluster/home"
libraries=$(dirname "$(find "$cluster/tessera/" -name libtessera_gam.so)")
submit --nodes=3 --ntasks-per-node=2 --output=tessera-fit.%j.log --wrap "
  export R_LIBS=$cluster/home/library LD_LIBRARY_PATH=$libraries TMPDIR=$cluster/home/temporary
  TESSERA_LAUNCHER='srun --mpi=pmix' Rscript launch.R"
await 300 job_has_ended "$job"
! log_says 'no launcher' || fail "the script has not run"
job_is "$job" COMPLETED || fail "job $job is $(job_field "$job" JobState)"
expect_quiet
