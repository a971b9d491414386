# SPDX-License-Identifier: Apache-2.0
# Jobs on the cluster, and their expected results. Sourced by scenario.bash, after cluster.bash.

scripts=$cluster/tessera/share/tessera/jobscripts

# submit OPTION... SCRIPT: sets `job` (its id), `log` (its output) and `model` (the path of its model).
submit() {
  job=$(sbatch --parsable "$@")
  model=model.${TESSERA_RESUME:-$job}.json
  log=$cluster/home/tessera-fit.$job.log
}
job_field() { scontrol --oneliner show job "$1" | grep -o " $2=[^ ]*" | head -n 1 | cut -d= -f2; }
job_is() { [[ $(job_field "$1" JobState) == "$2" ]]; }
job_has_ended() { [[ $(job_field "$1" JobState) =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|BOOT_FAIL)$ ]]; }
log_says() { grep -q -- "$1" "$log" 2>/dev/null; }

# prepare_fit [STOPS]: makes a script for a table, `fit.sbatch`, from a script of Tessera's, as a user would; and the
# expected model, by one undisturbed rank. With `stops`, every rank of a job without a saved state stops itself after
# the third iteration: see await_stop.
prepare_fit() {
  local formula='y ~ g + s(x, bs="ps", k=20) + s(z, bs="ps", k=20) + s(v, bs="ps", k=20) + s(w, bs="ps", k=20)'
  awk 'function uniform() { seed = (seed * 69069 + 1) % 4294967296; return seed / 4294967296 }
    BEGIN {
      seed = 20240229
      print "y,x,z,v,w,g"
      for (row = 0; row < 20000; ++row) {
        x = uniform(); z = uniform(); v = uniform(); w = uniform(); g = int(4 * uniform())
        mean = 1 / (1 + exp(3 - 8 * sin(6 * x) * z - 6 * (v - 0.5) ^ 2 + 2 * w - 3 * g))
        printf "%d,%.6f,%.6f,%.6f,%.6f,g%d\n", uniform() < mean, x, z, v, w, g
      }
    }' >table.csv
  sed -e 's|^data=.*|data=table.csv|' -e "s|^formula=.*|formula='$formula'|" -e 's|--device cpu|& --family binomial|' \
    "$scripts/fit-cpu.sbatch" >fit.sbatch
  [[ -z ${1-} ]] || sed -i "/^data=/i [[ -e model.\$name.checkpoint ]] || export '$stop_after_3'" fit.sbatch
  tessera-fit fit table.csv --formula "$formula" --family binomial --device cpu --out expected.json \
    >/dev/null 2>expected.log
}

stop_after_3='TESSERA_FAULT=stop@rank*:pass6' # the passes of three iterations, with a halved step, are 5

# await_stop RANKS: waits until this many ranks have stopped themselves; thaw: resumes them.
await_stop() { await 60 have_stopped "$1"; }
have_stopped() { (($(pgrep --runstates T --exact tessera-fit | wc -l) == $1)); }
thaw() { pkill -CONT --exact tessera-fit || true; }

# The job ends by itself with the model of an undisturbed run, and leaves nothing on any node.
expect_model() {
  await "${1:-120}" job_has_ended "$job"
  job_is "$job" COMPLETED || fail "job $job is $(job_field "$job" JobState)"
  same_model "$model"
  expect_quiet
}
same_model() { diff --brief <(grep -v '"verdict"' expected.json) <(grep -v '"verdict"' "$1") >&2; }
job_has_resumed() { log_says "resuming after iteration"; }

# 30 s after its end a job has no process on nodes that are up and reached by Slurm.
expect_quiet() {
  local node
  for node in "${!node_pid[@]}"; do
    await 30 node_is_quiet "$node"
  done
}
# The srun of Slurm 23.11 with which mpirun started its daemon on a lost node waits for it; Slurm ends it if it tracks
# processes by cgroups.
node_is_quiet() {
  local init others
  init=$(node_init "$1")
  others=$(pgrep --ns "$init" --nslist pid . | grep -vx "$init" | xargs -r ps -o comm=,args= -p |
    grep -vE '^(slurmd|sleep) |^srun .* orted ')
  [[ -z $others ]]
}
