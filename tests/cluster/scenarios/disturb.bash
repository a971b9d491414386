# SPDX-License-Identifier: Apache-2.0
# disturb LAUNCHER WHAT: during a fit on nodes n1 and n2 (n1 runs the batch script) something is lost, or hangs. The job
# still ends with the model of an undisturbed run, without help, on n3 if n1 or n2 is gone.
launcher=$1 what=$2
prepare_fit stops
export TESSERA_LAUNCHER=$launcher
[[ $what != hang ]] || export TESSERA_COLLECTIVE_TIMEOUT=5
submit fit.sbatch
await_stop 4

case $what in
  rank)
    kill -KILL "$(processes n2 tessera-fit | head -n 1)"
    thaw
    ;;
  hang)
    hanging=$(processes n2 tessera-fit | head -n 1)
    pgrep --exact tessera-fit | grep -vx "$hanging" | xargs kill -CONT
    ;;
  node)
    node_off n2
    thaw
    ;;
  batch-node)
    node_off n1
    thaw
    ;;
  cable)
    # The ranks on n2 cannot be told that their job goes on without them.
    cable_cut n2
    thaw
    ;;
  slurmd)
    # The ranks on n2 are unreachable; they are held until the job runs again without them.
    kill -KILL "$(processes n2 slurmd | head -n 1)"
    ;;
esac

await 120 job_has_resumed
case $what in
  hang) log_says 'rank [23] (n2) did not come to' ;;
  slurmd)
    thaw
    on_node n2 slurmd
    ;;
  cable)
    # Slurm contacts the node again every half minute, and ends what is left of the job there.
    cable_mend n2
    await 60 node_is n2 idle
    ;;
esac
expect_model
