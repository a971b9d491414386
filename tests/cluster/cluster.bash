# SPDX-License-Identifier: Apache-2.0
# A cluster of three nodes under Slurm, each a set of namespaces of this machine: an address, a host name, a boot id,
# processes, /tmp and shared memory of its own. Sourced by scenario.bash, which is the head node.
#
#   /run/cluster/tessera   the installed tree
#   /run/cluster/home      the file system that all nodes share; jobs are submitted from here
#   /run/cluster/log       of the daemons
#
# Scripts wait for a state, with a limit: `await SECONDS COMMAND...`.

cluster=/run/cluster
nodes=(n1 n2 n3)
declare -A node_pid  # of each node that is on: the process outside whose death is that of all in the node

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# await SECONDS COMMAND...: waits until the command succeeds.
await() {
  local limit=$1 end=$((SECONDS + $1 + 1))
  shift
  until "$@"; do
    ((SECONDS < end)) || fail "after $limit s still not: $*"
    sleep 0.1
  done
}

cluster_start() {
  mount --make-rprivate /
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p $cluster/{home,log,etc,dev,spool,state,tessera} /run/munge
  mount --bind "$work/home" $cluster/home
  mount --make-shared $cluster/home # mounts of the head node there are seen on all nodes
  mount --bind "$work/log" $cluster/log
  mount --bind "$prefix" $cluster/tessera

  # Open MPI as root, with ranks that share a few cores.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  export SLURM_CONF=$cluster/etc/slurm.conf HOME=$cluster/home USER=root PATH=$cluster/tessera/bin:$PATH

  start_network
  configure_slurm
  head -c 128 /dev/urandom >/run/munge/key
  chmod 600 /run/munge/key
  munged --key-file=/run/munge/key --socket=/run/munge/socket --pid-file=/run/munge/pid \
    --log-file=/run/munge/log --seed-file=/run/munge/seed
  slurmctld
  local node
  for node in "${nodes[@]}"; do
    node_on "$node"
  done
  await 30 nodes_are_idle
  cd $cluster/home
}

# One switch, the bridge `lan` of the head node, and a cable to each node.
start_network() {
  hostname head
  ip link set lo up
  ip link add name lan type bridge
  ip address add 10.0.0.1/24 dev lan
  ip link set lan up
  printf '127.0.0.1 localhost\n10.0.0.1 head\n' >$cluster/etc/hosts
  local i node
  for i in "${!nodes[@]}"; do
    node=${nodes[i]}
    ip netns add "$node"
    ip link add name "cable-$node" type veth peer name eth0 netns "$node"
    ip link set "cable-$node" master lan up
    ip -n "$node" link set lo up
    ip -n "$node" address add 10.0.0.$((11 + i))/24 dev eth0
    ip -n "$node" link set eth0 up
    echo "10.0.0.$((11 + i)) $node" >>$cluster/etc/hosts
  done
  mount --bind $cluster/etc/hosts /etc/hosts
}

configure_slurm() {
  # For Slurm a GPU is a device node. Number 195 is NVIDIA's; no device is behind it here.
  local i
  for i in 0 1; do
    mknod $cluster/dev/nvidia$i c 195 $i
  done
  echo "NodeName=n[1-3] Name=gpu File=$cluster/dev/nvidia[0-1]" >$cluster/etc/gres.conf
  cat >$cluster/etc/slurm.conf <<END
ClusterName=cluster
SlurmctldHost=head(10.0.0.1)
SlurmUser=root
SlurmdUser=root
# A requeued job starts again after cred_expire seconds; the default is 120.
AuthInfo=socket=/run/munge/socket,cred_expire=6
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd-%n.pid
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
# Nodes have the cores that are written here, whatever this machine has.
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
# A node that is silent for SlurmdTimeout seconds is down, and up again once it responds.
SlurmdTimeout=10
ReturnToService=2
# Seconds from SIGTERM to SIGKILL.
KillWait=5
MinJobAge=3600
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=n[1-3] NodeAddr=10.0.0.[11-13] CPUs=4 RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  # No test uses cgroups, and there may be none. From 22.05 on slurmd starts only with a plugin for them: that of
  # version 1 requires nothing before it is used, and 24.05 has a name for none.
  local version
  version=$(slurmd -V)
  if [[ $version =~ ([0-9]+)\.([0-9]+) ]]; then
    version=$((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}))
    if ((version >= 2405)); then
      echo "CgroupPlugin=disabled" >$cluster/etc/cgroup.conf
    elif ((version >= 2205)); then
      echo "CgroupPlugin=cgroup/v1" >$cluster/etc/cgroup.conf
    fi
  fi
}

nodes_are_idle() { [[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == "${#nodes[@]}" ]]; }
node_is() { [[ $(sinfo --noheader --nodes="$1" --format=%t 2>/dev/null) == "$2" ]]; }

# Boots a node; its /tmp and slurmd's folder are empty then.
node_on() {
  local node=$1
  rm -rf "$cluster/spool/$node"
  mkdir "$cluster/spool/$node"
  cat /proc/sys/kernel/random/uuid >"$cluster/etc/boot_id.$node"
  nsenter --net="/run/netns/$node" unshare --uts --ipc --pid --fork --kill-child --mount --propagation slave --mount-proc bash -euc '
    node=$1 cluster=$2
    hostname "$node"
    mount -t tmpfs tmpfs /tmp
    mount -t tmpfs tmpfs /dev/shm
    mount --bind "$cluster/etc/boot_id.$node" /proc/sys/kernel/random/boot_id
    cd /
    slurmd
    sleep infinity & wait  # and reap what is orphaned
  ' init "$node" $cluster </dev/null >>"$cluster/log/init-$node.log" 2>&1 &
  node_pid[$node]=$!
}

# Powers a node off.
node_off() {
  kill -KILL "${node_pid[$1]}"
  wait "${node_pid[$1]}" 2>/dev/null || true
  unset "node_pid[$1]"
}

cable_cut() { ip link set "cable-$1" down; }
cable_mend() { ip link set "cable-$1" up; }

# on_node NODE COMMAND...
on_node() {
  local node=$1
  shift
  nsenter --target "$(node_init "$node")" --root --net --uts --ipc --mount --pid "$@"
}
node_init() { pgrep --parent "${node_pid[$1]}"; }

# processes NODE NAME: the ids, in this namespace, of the processes of that name on a node.
processes() { pgrep --ns "$(node_init "$1")" --nslist pid --exact "$2"; }
