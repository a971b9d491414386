#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.bash install SOURCE LIBRARY SCRIPTS: installs a copy of the package SOURCE into LIBRARY, and its tests into
# SCRIPTS.
# package.bash binary TARBALL SCRIPTS: installs what scripts/make-r-package has made into an empty library, without root
# or anything of Tessera's, and runs its tests.
# package.bash check SOURCE FOLDER: checks it in FOLDER as CRAN would, without its tests, which are tests of their own:
# any error or warning fails.
set -euo pipefail
what=$1 source=$2 folder=$3
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
if [[ $what == binary ]]; then
  mkdir "$copy/library"
  bare=(env -i "PATH=/usr/bin:/bin" "HOME=$copy" "R_LIBS_USER=$copy/library")
  "${bare[@]}" R CMD INSTALL "$source"
  cp -R "$folder" "$copy/tests"
  cd "$copy/tests"
  for script in *.R; do "${bare[@]}" Rscript "$script"; done
  exit
fi
cp -R "$source" "$copy/tessera"
mkdir -p "$folder"
if [[ $what == install ]]; then
  # Without the library it stops with the command that brings it, and without pkg-config with that.
  stops_with() {
    local text=$1 told
    if told=$(cd "$copy/tessera" && env -u TESSERA_CFLAGS -u TESSERA_LIBS "$2" ./configure 2>&1) ||
      ! grep -q "$text" <<<"$told"; then
      echo "configure with $2: $told" >&2
      exit 1
    fi
  }
  stops_with '^cmake .* && cmake --install .* PKG_CONFIG_PATH=' "PKG_CONFIG_LIBDIR=$copy"
  stops_with 'no absent-pkg-config.*: apt-get install pkg-config' PKG_CONFIG=absent-pkg-config
  touch "$copy"/tessera/src/{json.o,tessera.o,tessera.so} # of another installation
  R CMD INSTALL --library="$folder" "$copy/tessera"
  cp -R "$source/tests/." "$4"
  exit
fi
cd "$folder"
rm -rf tessera.Rcheck
R CMD build --no-manual "$copy/tessera"
# CRAN is asked whether packages of Suggests that are not installed have a maintainer: here is its list, without any.
mkdir -p web/packages
Rscript -e 'saveRDS(data.frame(Package = character(), Maintainer = character()), "web/packages/packages.rds")'
export R_CRAN_WEB=file://$PWD _R_CHECK_CRAN_INCOMING_=false _R_CHECK_FORCE_SUGGESTS_=false
R CMD check --as-cran --no-manual --no-tests tessera_*.tar.gz
# The scripts are checked by checkbashisms, and its absence is a warning.
known='^$'
command -v checkbashisms >/dev/null || known='checking top-level files'
! grep -E '(ERROR|WARNING)$' tessera.Rcheck/00check.log | grep -v "$known"
