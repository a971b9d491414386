#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# full_disk.bash FIT LAUNCHER...: a fit whose checkpoint is on a full disk, a tmpfs of 64 KiB, continues or ends as
# docs/site.md says; the previous state stays intact, and no partial file is left. Skipped (77) where no file system can
# be mounted.
set -euo pipefail
if [[ ${1-} != --inside ]]; then
  as_root=()
  ((EUID == 0)) || as_root=(--map-root-user)
  if ! reason=$(unshare "${as_root[@]}" --mount sh -c 'mount -t tmpfs tmpfs /mnt' 2>&1); then
    echo "SKIPPED: no file system can be mounted here: $reason"
    exit 77
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  unshare "${as_root[@]}" --mount bash "$0" --inside "$work" "$@"
  exit
fi
work=$2 fit=$3
shift 3
launch=("$@")
disk=$work/disk
mkdir "$disk"
export TMPDIR=$work  # the launcher's folder of the user whose name this one has here may be another's
mount -t tmpfs -o size=64k tmpfs "$disk"

fail() {
  echo "FAILED: $*"
  cat "$work/log"
  exit 1
}
# go STATUS FAULT [option...]: runs the fit, which must end with STATUS.
go() {
  local expected=$1 fault=$2 status=0
  shift 2
  echo "a fit that is to end with $expected"
  TESSERA_FAULT=$fault "${launch[@]}" "$fit" fit "$work/data.csv" --formula 'y ~ s(x, bs="ps", k=400)' --family gamma \
    --device cpu --threads 1 --checkpoint "$disk/state" --out "$work/model.json" "$@" >"$work/log" 2>&1 || status=$?
  ((status == expected)) || fail "it ended with $status"
}
# The number of lines of the log with PATTERN is as given.
lines() {
  [[ $(grep -c -- "$2" "$work/log") == "$1" ]] || fail "not $1 lines of: $2"
}
holds() {
  local found
  found=$(cd "$disk" && echo *)
  [[ $found == "$1" ]] || fail "the disk holds $found, not $1"
}
# leave PAGES: leaves this many pages of the disk free.
leave() {
  rm -f "$disk/filler"
  cat /dev/zero >"$disk/filler" 2>/dev/null || true
  truncate --size=-$(($1 * 4096)) "$disk/filler"
}

awk 'BEGIN { print "y,x"; for (i = 0; i < 900; ++i) { x = i * 0.6180339887498949 % 1
  printf "%.6f,%.6f\n", exp(sin(6 * x) + 0.3 * cos(97 * i)), x } }' >"$work/data.csv"
go 0 ''
mv "$work/model.json" "$work/whole.json"
holds '*'

go 4 '' --max-iterations 3
mv "$work/model.json" "$work/not-converged.json"
holds 'state state.previous'
(($(stat --format=%s "$disk/state") > 2 * 4096)) || fail "a state fits two pages"
cp "$disk/state" "$disk/state.previous" "$work"

# Room to start, and then for half of a state: the fit warns once and continues. When stopped, it cannot save its state.
leave 2
go 6 signal@rank0:pass5
lines 1 'the state after iteration .* was not saved, but the fit continues: .*/state: cannot be written: No space left on device'
lines 1 '^tessera-fit: stopped by SIGUSR1 on rank 0, but the state after iteration .* cannot be saved: .*No space left'
holds 'filler state state.previous'
cmp "$work/state" "$disk/state"
cmp "$work/state.previous" "$disk/state.previous"
[[ ! -e $work/model.json ]] || fail "there is a model"

# No room for the first byte of a state: nothing is changed until there is an answer.
leave 0
go 6 signal@rank0:pass5
lines 1 'the state after iteration .* was not saved, but the fit continues: .*/state: cannot be written: No space left on device'
holds 'filler state state.previous'
cmp "$work/state" "$disk/state"

# A disk that is full until the end of the fit: the answer is that of an undisturbed fit.
leave 0
go 0 ''
lines 1 'No space left on device'
cmp "$work/model.json" "$work/whole.json"
holds filler
