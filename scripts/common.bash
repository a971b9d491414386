# SPDX-License-Identifier: Apache-2.0
# Functions of run-example and run-tests; sourced by them in the repository's root.

say() { echo "== $*"; }

# Finds a CUDA toolkit in the folder of its packages if it is not on the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  PATH=$PATH:/usr/local/cuda/bin
fi

# Open MPI runs as root, e.g. in a container, only if told so.
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# One job for each core this process may use, as long as each has 1.5 GiB of memory.
jobs=$(nproc)
memory_jobs=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || echo "$jobs")
((jobs <= memory_jobs)) || jobs=$((memory_jobs > 0 ? memory_jobs : 1))

# The plugin for Parquet is built with PyPI's pyarrow, in an environment of the build: Debian and Ubuntu have no package
# of Apache Arrow's libraries. If PyPI cannot be reached, the build goes on without the plugin.
pyarrow=$PWD/build/pyarrow
install_pyarrow() {
  local wanted
  wanted=$(grep '^pyarrow==' python/tests/requirements.txt)
  [[ $(cat "$pyarrow/installed" 2>/dev/null) != "$wanted" ]] || return 0
  say "Installing $wanted for Parquet"
  rm -rf "$pyarrow"
  if python3 -m venv "$pyarrow" &&
    "$pyarrow/bin/pip" install --quiet --no-compile --no-deps --disable-pip-version-check "$wanted"; then
    echo "$wanted" >"$pyarrow/installed"
  else
    say "Without Parquet: $wanted cannot be installed"
  fi
}

# The targets of the kernels: those of this machine's GPUs, or else one, so that all kernels are compiled once.
kernel_targets() {
  local found
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | sed -n 's/^\([0-9]*\)\.\([0-9]\)$/sm_\1\2/p' |
    paste -s -d ';' || true)
  echo "${found:-sm_90}"
}

# A unity build compiles several sources as one, which is faster for a build of all sources. Continuous integration that
# keeps the folder of ccache between runs names it in CCACHE_DIR.
configure() {
  local preset=${1:-default}
  install_pyarrow
  say "Configuring build/$preset"
  cmake --preset "$preset" -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=24 -D TESSERA_PYTHON_OF_ARROW="$pyarrow/bin/python3" \
    -D TESSERA_KERNEL_TARGETS="$(kernel_targets)" \
    -D TESSERA_ENABLE_CCACHE="$([[ -v CCACHE_DIR ]] && echo ON || echo OFF)"
}

build() {
  say "Building with $jobs jobs"
  cmake --build --preset default --parallel "$jobs" "$@"
}
