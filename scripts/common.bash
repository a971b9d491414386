# SPDX-License-Identifier: Apache-2.0
# Functions of run-example and run-tests; sourced by them in the repository's root.

say() { echo "== $*"; }

# A CUDA toolkit that is installed where its packages put it, but is not on the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  PATH=$PATH:/usr/local/cuda/bin
fi

# Open MPI refuses to run as root unless told that this is meant, as it is in a container.
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# One job for each core this process may use, as long as each has 1.5 GiB of memory.
jobs=$(nproc)
memory_jobs=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || echo "$jobs")
((jobs <= memory_jobs)) || jobs=$((memory_jobs > 0 ? memory_jobs : 1))

# A unity build: several sources are compiled as one, which is faster if all of them are compiled. Continuous
# integration that keeps the folder of ccache from run to run names it in CCACHE_DIR.
configure() {
  local preset=${1:-default}
  say "Configuring build/$preset"
  cmake --preset "$preset" -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=24 \
    -D TESSERA_ENABLE_CCACHE="$([[ -v CCACHE_DIR ]] && echo ON || echo OFF)"
}

build() {
  say "Building with $jobs jobs"
  cmake --build --preset default --parallel "$jobs" "$@"
}
