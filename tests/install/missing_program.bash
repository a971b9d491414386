#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# missing_program.bash ROOT [MPIRUN]: a job script whose launcher does not find tessera-fit ends with one line that says
# what to do, and is not requeued; one whose launcher provides its own, as a container does, fits; and one that lost a
# rank is requeued. Scripts with the launchers' messages stand in for missing ones.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work"/{examples,bin}
cp -r "$1/jobscripts" "$work"
cd "$work"
cat >bin/scontrol <<'END'
#!/usr/bin/env bash
[[ $1 != requeue ]] || echo "$2" >>requeued
END
chmod +x bin/scontrol
PATH=$work/bin:$PATH

fail() {
  echo "FAILED: $*"
  cat log
  exit 1
}
# job LAUNCHER STATUS LINE: a Slurm job whose script has this launcher; its expected end.
job() {
  local status=0
  rm -f requeued ./*.resumes
  SLURM_JOB_ID=7 TESSERA_LAUNCHER=$1 bash -c "source '$work/jobscripts/common.bash'; fit data.csv" 2>log || status=$?
  ((status == $2)) || fail "$1: status $status"
  tail -n 1 log | grep -qE "$3" || fail "$1: the last line is not: $3"
}
# says STATUS TEXT: a launcher that ends with this status and text.
says() {
  printf 'cat >&2 <<"END"\n%s\nEND\nexit %s\n' "$2" "$1" >launcher
}

missing='job 7: tessera-fit is not found where .* starts it: put bin of an installed tree on the PATH'
while IFS='|' read -r status text; do
  says "$status" "$text"
  job 'bash launcher' 127 "$missing"
  [[ ! -e requeued ]] || fail "put back into the queue: $text"
done <<'END'
134|mpirun was unable to find the specified executable file, and therefore
2|slurmstepd: error: execve(): tessera-fit: No such file or directory
255|[proxy:0:0@node1] HYDU_create_process (lib/utils/launch.c:73): execvp error on file tessera-fit (No such file or directory)
127|bash: line 1: tessera-fit: command not found
127|Error: crun: executable file `tessera-fit` not found in $PATH: No such file or directory
255|FATAL:   exec: "tessera-fit": executable file not found in $PATH
127|
END
if [[ -n ${2-} ]] && ! command -v tessera-fit >/dev/null; then
  job "$2 -np 1" 127 "$missing"
fi

# The program's own message, and a killed rank.
says 3 'tessera-fit: data.csv: cannot be read: No such file or directory'
job 'bash launcher' 3 'no model; the reason is above$'
[[ ! -e requeued ]] || fail 'wrong input is put back into the queue'
for status in 6 134 137 143; do
  says $status 'a rank was lost'
  job 'bash launcher' $status "exit status $status; back to the queue"
  [[ -e requeued ]] || fail "not put back into the queue with status $status"
done

# The program is in a container, and not here.
says 0 ''
job 'bash launcher' 0 'the model is in model.7.json$'
