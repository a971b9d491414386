# SPDX-License-Identifier: Apache-2.0
# Jobs on the cluster, and what is expected of them. Sourced by scenario.bash, after cluster.bash.

scripts=$cluster/tessera/share/tessera/jobscripts

# submit OPTION... SCRIPT: sets `job`, its id, and `log`, its output.
submit() {
  job=$(sbatch --parsable "$@")
  log=$cluster/home/tessera-fit.$job.log
}
job_field() { scontrol --oneliner show job "$1" | grep -o " $2=[^ ]*" | head -n 1 | cut -d= -f2; }
job_is() { [[ $(job_field "$1" JobState) == $2 ]]; }
job_has_ended() { [[ $(job_field "$1" JobState) =~ ^(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL|BOOT_FAIL)$ ]]; }
log_says() { grep -q -- "$1" "$log" 2>/dev/null; }

# 30 s after its end no process of a job is left, where nodes are on and reached by Slurm.
expect_quiet() {
  local node
  for node in "${!node_pid[@]}"; do
    await 30 node_is_quiet "$node"
  done
}
node_is_quiet() {
  local init others
  init=$(node_init "$1")
  others=$(pgrep --ns "$init" --nslist pid . | grep -vx "$init" | xargs -r ps -o comm= -p | grep -vE '^(slurmd|sleep)$')
  [[ -z $others ]]
}
