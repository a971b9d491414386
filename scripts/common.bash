# SPDX-License-Identifier: Apache-2.0
# Functions for the scripts in this folder, which source this file in the repository's root.

say() { echo "== $*"; }

# Adds a CUDA toolkit in its default folder to the PATH.
if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
  PATH=$PATH:/usr/local/cuda/bin
fi

# Open MPI refuses to run as root, e.g. in a container, without these variables.
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# One job per core that this process may use, but at most one per 1.5 GiB of available memory.
jobs=$(nproc)
memory_jobs=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || echo "$jobs")
((jobs <= memory_jobs)) || jobs=$((memory_jobs > 0 ? memory_jobs : 1))

# The Parquet plugin is built with pyarrow from PyPI, in a virtual environment, because Debian and Ubuntu do not package
# Apache Arrow. Without PyPI, the build has no plugin.
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

# Kernel targets: this machine's GPUs or, without GPUs, sm_90, so that every kernel is compiled at least once.
kernel_targets() {
  local found
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | sed -n 's/^\([0-9]*\)\.\([0-9]\)$/sm_\1\2/p' |
    paste -s -d ';' || true)
  echo "${found:-sm_90}"
}

# A unity build is faster if all sources are built. ccache is used if CCACHE_DIR is set, as in continuous integration
# that caches this folder.
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
