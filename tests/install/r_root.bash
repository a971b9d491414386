#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# r_root.bash SOURCE [TARBALL]: as root in a bare Debian system that has Tessera's package with that for R in it. A user
# who is not root runs the tests of that, of TARBALL, which scripts/make-r-package has made, and of what is installed
# from the sources, these two in empty libraries; what docs/r.md shows; and `R CMD check --as-cran`.
set -euo pipefail
source=$1 tarball=${2-}
useradd --create-home reader
# SIGINT, which the background jobs of a shell ignore, interrupts a fit in the tests.
as_reader() {
  runuser --user reader -- env --ignore-environment --default-signal=INT --chdir=/home/reader PATH=/usr/bin:/bin \
    LANG=C.UTF-8 HOME=/home/reader R_LIBS_USER=/home/reader/library OMP_NUM_THREADS=1 "TESSERA_MODELS=$source/tests/data/models" \
    "TESSERA_LAUNCHER=mpirun -np 2 --oversubscribe" "$@"
}
as_reader cp -R "$source/r/tests" tests
# run_tests [VARIABLE=VALUE...]
run_tests() {
  as_reader "$@" bash -euc 'cd tests; for script in *.R; do echo "== $script"; Rscript "$script"; done'
  as_reader Rscript "$source/tests/r/docs.R" "$source"
}

echo "== Of the Debian package"
run_tests
if [[ -f $tarball ]]; then
  echo "== Of $tarball"
  as_reader mkdir library
  as_reader R CMD INSTALL "$tarball"
  run_tests TESSERA_LAUNCHER=  # another compiler has made tessera-fit, whose bits are others
  as_reader rm -R library
fi

# devscripts: checkbashisms, without which the check warns
apt-get -q install --yes --no-install-recommends r-base-dev pkg-config devscripts
echo "== Of the sources"
as_reader "$source/tests/r/package.bash" install "$source/r" /home/reader/library /home/reader/tests
run_tests
as_reader "$source/tests/r/package.bash" check "$source/r" /home/reader/check
