# SPDX-License-Identifier: Apache-2.0
# What the job scripts share; sourced by them. `run` starts a program on all ranks of the job; `fit` starts
# tessera-fit and ends the script: with a model; or by putting the job back into the queue, where it goes on from
# its checkpoint; or with a reason why there is no model.
#
#   TESSERA_LAUNCHER   srun, mpirun, or a command line of your own, e.g. "mpiexec -n 8". Left out, it is srun in a
#                      job of Slurm that has the PMIx plugin, and mpirun elsewhere.
#   SLURM_MPI_TYPE     Slurm's own: its plugin for another MPI than Open MPI; pmix where it is not set
#   TESSERA_COLLECTIVE_TIMEOUT
#                      seconds after which a fit whose ranks wait for one that does not come ends, and goes back into
#                      the queue; 600: more than Slurm takes to notice that a node is lost (SlurmdTimeout, 300 where
#                      nothing is said), and more than ranks differ in reading their parts of a table
#   TESSERA_RESUME     the id of an earlier job of the same script, which ended without a model: go on from its
#                      checkpoint, under its file names
set -euo pipefail

# In a checkout or in an installed tree, the examples are beside this folder, and the programs in one of these.
examples=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/examples
PATH=$PATH:${examples%/*}/../../bin:${examples%/*}/build/default/bin

if [[ -n ${SLURM_ARRAY_JOB_ID-} ]]; then
  job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
  name=${TESSERA_RESUME:-$SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
else
  job=${SLURM_JOB_ID:-${PBS_JOBID:-${FLUX_ENCLOSING_ID:-local}}}
  name=${TESSERA_RESUME:-$job}
fi
# Of a rank. Where Slurm says nothing of them, ranks go by OMP_NUM_THREADS, or take an equal share of what there is.
cores=${SLURM_CPUS_PER_TASK-}

# Ranks have the environment of this script, also where a job begins with none (sbatch --export=NONE).
export SLURM_EXPORT_ENV=ALL

say() { echo "$(date '+%F %T')  $*" >&2; }

# end STATUS TEXT: the last line of the log.
end() {
  say "job $job: $2"
  exit "$1"
}

# How programs are started: `launcher` and its arguments.
choose_launcher() {
  local choice=${TESSERA_LAUNCHER-}
  if [[ -z $choice ]]; then
    choice=mpirun
    [[ -n ${SLURM_JOB_ID-} && $(srun --mpi=list 2>&1) == *pmix* ]] && choice=srun
  fi
  case $choice in
    srun)
      # srun itself does not take --cpus-per-task from the job. A rank that ends with a status of its own is no
      # reason to kill the others, which end with the same status; one that is killed is, and PMIx sees to that.
      launcher=(srun "--mpi=${SLURM_MPI_TYPE:-pmix}" ${cores:+"--cpus-per-task=$cores"} --cpu-bind=cores
        --kill-on-bad-exit=0 --wait=60)
      ;;
    mpirun)
      [[ -z ${SLURM_GPUS_PER_TASK-}${SLURM_GPUS-} || ${SLURM_NNODES:-1} == 1 ]] ||
        end 2 'under mpirun ask for GPUs by --gpus-per-node: Slurm gives its daemons a GPU as if each were a rank'
      # A cable that is cut is noticed after some 10 s.
      launcher=(mpirun --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3)
      # A rank that has a node to itself has all cores that the job has there; ranks that were promised none share them.
      if [[ -z $cores || ${SLURM_NTASKS:-1} == "${SLURM_NNODES:-1}" ]]; then
        launcher+=(--bind-to none)
      else
        launcher+=(--map-by "slot:PE=$cores" --bind-to core:overload-allowed)
      fi
      ;;
    *) read -ra launcher <<<"$choice" ;;
  esac
}

# run COMMAND...: on all ranks; its exit status. What it says on standard error is kept in the file `messages` too.
#
# A job that is back in the queue has the id that it had, and where a node was lost Slurm may have left the socket of
# its first step, which is then in the way of the new first step: that one ends before all ranks are started, and
# srun with status 0 or 137. The next step has a socket of its own.
run() {
  local try status
  for try in 1 2 3; do
    status=0
    run_once "$@" || status=$?
    ! is_missing "$1" "$status" ||
      end 127 "$1 is not found where '${launcher[0]}' starts it: put bin of an installed tree on the PATH, or give a \
TESSERA_LAUNCHER whose container has it"
    grep -q 'aborted before step completely launched' "$messages" || return "$status"
    say "try $try: the step was not started on all nodes"
  done
  return 1
}

# is_missing PROGRAM STATUS: the launcher has not found it, by what shells, srun, mpirun, mpiexec and containers say. Not
# looked for before: the launcher may start a container that has it. Programs of Tessera name a file after their own
# name, and never end with 127.
is_missing() {
  (($2 != 127)) || return 0
  (($2 != 0)) && grep -qE -e 'unable to find the specified executable file' \
    -e "execv[a-z]*(\(\):| error on file) $1\b" -e "\b$1\"?: (executable file )?not found" \
    -e "\b$1: (command not found|No such file or directory)" "$messages"
}

# A signal to this shell is passed on as SIGUSR1, which srun and mpirun give to every rank; at SIGTERM mpirun would
# kill them. The trap passes it on, so that one which comes before `wait` begins is not lost.
run_once() {
  local copy status=0
  exec {copy}> >(exec tee "$messages" >&2)
  local tee=$!
  "${launcher[@]}" "$@" 2>&"$copy" {copy}>&- &
  pid=$!
  exec {copy}>&-
  [[ -z $signal ]] || ask_to_stop
  while :; do
    caught=''
    wait "$pid" && status=0 || status=$?
    [[ -n $caught ]] || break
  done
  # bash 5.2 loses the status of a process that ends while a trap runs, and says -1: a launcher that stopped when asked.
  ((status >= 0)) || status=75
  pid=''
  wait "$tee" || true
  return "$status"
}
ask_to_stop() { [[ -z $pid ]] || kill -USR1 "$pid" 2>/dev/null || true; }
signal='' caught='' pid=''
trap 'signal=USR1 caught=yes; say "SIGUSR1: asking the ranks to stop"; ask_to_stop' USR1
trap 'signal=TERM caught=yes; say "SIGTERM: asking the ranks to stop"; ask_to_stop' TERM
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT

# leave_if_overtaken STATUS: ends the script if this is not the last start of its job, as far as is known: Slurm starts
# a job again that it has lost sight of.
leave_if_overtaken() {
  if grep -q 'a later start of the job has taken over' "$messages" ||
    { [[ -n ${SLURM_JOB_ID-} && $(scontrol show job "$job" 2>/dev/null) =~ Restarts=([0-9]+) ]] &&
      ((BASH_REMATCH[1] > ${SLURM_RESTART_COUNT:-0})); }; then
    end "$1" "exit status $1, but a later start of the job has taken over: left to it"
  fi
}

# requeue STATUS: puts the job back into the queue, and ends the script with STATUS. Slurm may be away for a moment, in
# which it says nothing of a later start either; it stays with what it has refused.
requeue() {
  local answer limit=$((SECONDS + 300))
  until answer=$(scontrol requeue "$job" 2>&1); do
    if [[ $signal == TERM || $answer == *disabled* || $answer == *denied* ]] || ((SECONDS >= limit)); then
      end "$1" "could not be put back into the queue: $answer"
    fi
    say "trying again to put job $job back into the queue: $answer"
    sleep 10 || true
    leave_if_overtaken "$1"
  done
  exit "$1"
}

# fit DATA OPTION...: the model goes to model.JOB.json in the folder that the job was submitted from.
fit() {
  local model=model.$name.json checkpoint=model.$name.checkpoint resumes=model.$name.resumes status=0
  local advice="with TESSERA_RESUME=$name the same script goes on from $checkpoint"
  [[ -z ${SLURM_JOB_ID-} ]] || advice="'scontrol requeue $job' goes on from $checkpoint"
  run tessera-fit fit "$@" ${cores:+--threads "$cores"} --out "$model" --run-report "run.$name.json" \
    --checkpoint "$checkpoint" --collective-timeout "${TESSERA_COLLECTIVE_TIMEOUT:-600}" || status=$?

  case $status in
    0) rm -f "$resumes"; end 0 "the model is in $model" ;;
    2 | 3 | 5) end $status 'no model; the reason is above' ;;
    4)
      [[ ! -e $model ]] || end 4 "not converged; the last state is in $model"
      end 4 'no model: the first iteration diverged; see above'
      ;;
  esac
  # 75 is a fit that stopped when it was asked to. Others lost a rank or a node: 6 from tessera-fit, 205 from
  # mpirun, 128 + n from srun and mpirun where a signal has ended a rank.
  [[ $signal != TERM ]] || end $status "told to end; $advice"
  leave_if_overtaken $status
  # What the next start goes on from. Three runs that end with the same are two that came no further than the first.
  local kept
  kept=$(grep -aos '"iteration":[0-9]*' "$checkpoint" | tail -n 1) || kept=
  kept=${kept/*:/iteration }
  kept=${kept:-nothing}
  { echo "$kept"; } >>"$resumes" || end $status "exit status $status, and $resumes cannot be written; $advice"
  if (($(tail -n 3 "$resumes" | grep -cxF "$kept") == 3)); then
    rm "$resumes" # who puts it back by hand means to try again
    end $status "no model: three runs came no further (kept: $kept; exit status $status)"
  fi
  if [[ -n ${SLURM_JOB_ID-} ]]; then
    say "job $job: exit status $status; back to the queue, to go on from $checkpoint"
    requeue $status
  fi
  end $status "exit status $status; $advice"
}

choose_launcher
