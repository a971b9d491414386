#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.bash install SOURCE LIBRARY SCRIPTS: installs a copy of the package SOURCE into LIBRARY, and its tests into SCRIPTS.
# package.bash check SOURCE FOLDER: checks it in FOLDER as CRAN would, without its tests, which are tests of their own: any
# error or warning fails.
set -euo pipefail
what=$1 source=$2 folder=$3
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$source" "$copy/tessera"
mkdir -p "$folder"
if [[ $what == install ]]; then
  R CMD INSTALL --library="$folder" "$copy/tessera"
  cp -R "$source/tests/." "$4"
  exit
fi
cd "$folder"
rm -rf tessera.Rcheck
R CMD build --no-manual "$copy/tessera"
export _R_CHECK_CRAN_INCOMING_=false _R_CHECK_FORCE_SUGGESTS_=false
R CMD check --as-cran --no-manual --no-tests tessera_*.tar.gz
# The scripts are checked by checkbashisms, and its absence is a warning.
known='^$'
command -v checkbashisms >/dev/null || known='checking top-level files'
! grep -E '(ERROR|WARNING)$' tessera.Rcheck/00check.log | grep -v "$known"
