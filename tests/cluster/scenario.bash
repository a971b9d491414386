# SPDX-License-Identifier: Apache-2.0
# scenario.bash PREFIX WORK_DIR SCENARIO [ARGUMENT...]: the first process in the namespaces of run.bash, and the head
# node of the cluster. Starts the cluster and runs the scenario; when it ends, the kernel ends all other processes.
set -Eeuo pipefail
prefix=$1 work=$2 scenario=$3
shift 3
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
source "$here/cluster.bash"
source "$here/jobs.bash"

trap 'echo "FAILED: line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND" >&2' ERR
trap 'status=$?; ((status == 0)) || tail --lines=25 "${log:-/dev/null}" $cluster/log/slurmctld.log 2>/dev/null' EXIT
cluster_start
# shellcheck source=/dev/null # each is checked by itself
source "$here/scenarios/$scenario.bash" "$@"
