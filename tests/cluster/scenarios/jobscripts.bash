# SPDX-License-Identifier: Apache-2.0
# Every job script runs unchanged in the installed tree, under srun and under mpirun, on simulated devices; the
# rehearsal runs on the head node. A copy of a script runs in a user's folder with the programs on PATH, and otherwise
# says what is missing. Names of folders, and arguments, may have blanks.
export TESSERA_SIMULATE='*:2xH200'
with_programs=$PATH
PATH=${PATH#"$cluster/tessera/bin:"}
ln -s "$cluster/tessera" 'my project'
scripts="$PWD/my project/share/tessera/jobscripts"
jobs=()
for launcher in srun mpirun; do
  for script in probe fit-gpu fit-gpu-nodes fit-cpu fit-array; do
    TESSERA_LAUNCHER=$launcher submit --job-name="$script.$launcher" "$scripts/$script.sbatch" an/argument 'another one'
    jobs+=("$job")
  done
done
"$scripts/rehearse.bash" >rehearsal.log 2>&1
PATH=$with_programs
cp "$scripts/fit-gpu.sbatch" mine.sbatch
submit --job-name=mine --nodes=2 --ntasks-per-node=2 --gpus-per-node=2 --cpus-per-task=2 mine.sbatch
jobs+=("$job")
PATH=${PATH#"$cluster/tessera/bin:"} submit --job-name=lost --output=lost.log mine.sbatch
lost=$job
# Another batch system that signals a job to end. Like every launcher, this one survives the signal that it passes on.
echo 'trap "" USR1; kill -TERM $PPID; exit 75' >told
PBS_JOBID=7.server TESSERA_LAUNCHER='bash told' bash -c "source '$scripts/common.bash'; fit" 2>told.log || (($? == 75))
grep 'job 7.server: told to end; with TESSERA_RESUME=7.server the same script goes on from model.7.server.c' told.log
# A job with an empty environment gives its ranks the environment that its script makes; a job without a number of cores
# works for any number of OpenMP threads.
for launcher in srun mpirun; do
  environment="PATH=\$PATH:$cluster/tessera/bin TESSERA_LAUNCHER=$launcher $(env | grep ^OMPI_ | xargs)"
  sed -e "s|^command=|export $environment OMP_NUM_THREADS=8,2\n&|" -e /cpus-per-task/d "$scripts/fit-cpu.sbatch" \
    >clean.sbatch
  submit --job-name="clean.$launcher" --export=NONE clean.sbatch
  jobs+=("$job")
done

for job in "${jobs[@]}"; do
  await 60 job_has_ended "$job"
  job_is "$job" COMPLETED || fail "job $job is $(job_field "$job" JobState)"
done
tail --quiet --lines=1 ./*.log
await 10 job_has_ended "$lost"
job_is "$lost" FAILED
grep -q "^no common.bash beside $PWD/mine.sbatch: put tessera-fit on the PATH$" lost.log
(($(tail --quiet --lines=1 probe.*.log | grep -c 'the report is above$') == 2))
(($(tail --quiet --lines=1 {fit-,mine,clean,rehearsal}*.log | grep -c 'the model is in model\..*\.json$') == 16))
# One rank, four ranks on two nodes, srun, mpirun: the model is the same, to the bit.
for model in model.{3,7,8,11,local}.json; do
  diff <(grep -v '"verdict"' model.2.json) <(grep -v '"verdict"' "$model")
done
grep -q '4 ranks on 2 nodes; to run on 8 simulated devices' mine.11.log
expect_quiet
