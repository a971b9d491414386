#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.bash PREFIX WORK_DIR SCENARIO [ARGUMENT...]: runs scenarios/SCENARIO.bash on a Slurm of three nodes of its own, in
# namespaces for processes, mounts, network and host name, so that any number of runs are concurrent, and nothing of a
# run is left however it ends. Programs and job scripts are those installed in PREFIX; output goes to a folder in
# WORK_DIR, which stays if the scenario failed. Exit status 77: it cannot run here.
set -euo pipefail
prefix=$(realpath "$1") work_root=$2 scenario=$3
shift 2
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

skip() {
  echo "SKIPPED: $*"
  exit 77
}
((EUID == 0)) || skip "a cluster of namespaces is made by root"
PATH=$PATH:/usr/sbin:/sbin
for tool in slurmctld slurmd sbatch srun munged mpirun ip; do
  command -v $tool >/dev/null || skip "$tool is not installed (scripts/install-packages tests)"
done
why=$(unshare --mount --net --pid --fork bash -euc '
  mount -t tmpfs tmpfs /run
  mknod /run/device c 195 0
  ip link add name lan type bridge
  ip link add name cable type veth peer name plug' 2>&1) || skip "namespaces, mounts or devices are not permitted: $why"

mkdir -p "$work_root"
work=$(mktemp -d "$(realpath "$work_root")/$scenario.XXXXXX")
mkdir "$work"/{home,log}
start=$SECONDS status=0
env -i PATH="$PATH" LANG=C.UTF-8 unshare --mount --net --pid --uts --ipc --fork --kill-child --mount-proc \
  bash "$here/scenario.bash" "$prefix" "$work" "$@" || status=$?
if ((status != 0 && status != 77)); then
  echo "FAILED: $*, exit status $status after $((SECONDS - start)) s; what it left is in $work"
  exit 1
fi
rm -rf "$work"
((status == 0)) || exit $status
echo "PASSED: $*, $((SECONDS - start)) s"
