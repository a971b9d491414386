#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stopped_commands.bash FIT WITH_HDF5 LAUNCHER...: each command of tessera-fit with a table or a posterior ends with 75 at
# SIGTERM, and nothing is left: as soon as it catches the signal, and when an output has begun. Over two ranks, at SIGUSR1,
# which mpirun forwards.
set -euo pipefail
fit=$1 with_hdf5=$2
shift 2
launch=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir out scratch
mkfifo silent
exec 3<>silent # a standard input of which nothing comes
export OMP_NUM_THREADS=1 TMPDIR=$work/scratch

fail() {
  echo "FAILED: $*"
  cat log
  exit 1
}
awk 'BEGIN {
  print "y,x,z,f"
  for (i = 0; i < 100000; ++i)
    printf "%.6f,%.6f,%.6f,%s\n", sin(i / 1e4) + cos(97 * i) / 10, i * .618 % 1, i * .7548 % 1, substr("abc", i % 3 + 1, 1)
}' >data.csv
cut -d, -f1 data.csv >responses.csv
"$fit" fit data.csv --formula 'y ~ f + s(x, bs="ps", by=f) + s(z, bs="cr")' --out model.json >log 2>&1 || fail "no model"

catches() { # SIGTERM, which bash itself does before it becomes the command
  local key value
  [[ /proc/$1/exe -ef $fit ]] || return 1
  while read -r key value; do
    [[ $key != SigCgt: ]] || ! ((0x$value >> 14 & 1)) || return 0
  done 2>/dev/null <"/proc/$1/status"
  return 1
}
has_begun() { [[ $(find out scratch -name '*tessera-*' -print -quit 2>/dev/null) ]]; }

# stopped WHEN SIGNAL COMMAND...: the command, to which the signal is sent once WHEN says so; again, if it was done then.
stopped() {
  local when=$1 signal=$2 process status tries
  shift 2
  for ((tries = 0; tries < 20; ++tries)); do
    "$@" <&3 >log 2>&1 &
    process=$! status=0
    until "$when" "$process" || [[ ! -e /proc/$process ]]; do :; done
    kill -s "$signal" "$process" 2>/dev/null || true
    wait "$process" || status=$?
    [[ $status != 75 || -z $(find out scratch -type f) ]] || fail "$when, $*: $(find out scratch -type f) is left"
    ! has_begun || fail "$when, $*: $(find out scratch) is left"
    rm -rf out scratch
    mkdir out scratch
    [[ $status != 75 ]] || return 0
    [[ $status == 0 || $status == 143 ]] || break
  done
  fail "$when, $*: it ended with $status"
}

outputs=(.csv /)
((with_hdf5 == 0)) || outputs+=(.h5)
for end in "${outputs[@]}"; do
  for when in catches has_begun; do
    for command in "predict model.json data.csv --keep f" "predict model.json -" "smooths model.json" "derivatives model.json" \
      "slice model.json --at x=0.1,0.2" "contrasts model.json" "contrasts model.json data.csv data.csv" \
      "simulate model.json --what coefficients --draws 50000" "simulate model.json data.csv --what responses"; do
      read -ra words <<<"$command"
      stopped $when TERM "$fit" "${words[@]}" --out "out/file$end"
    done
    stopped $when TERM "$fit" convert data.csv "out/table$end"
  done
  stopped has_begun USR1 "${launch[@]}" 2 "$fit" predict model.json data.csv --out "out/file$end"
done
for when in catches has_begun; do
  stopped $when TERM "$fit" many data.csv --responses responses.csv --formula 's(x, bs="cr")' --out out/fits.csv --tests out/tests.csv
  stopped $when TERM "$fit" report model.json --data data.csv --out out/report.html --figures out/figures
done
for command in columns "check model.json"; do
  read -ra words <<<"$command"
  stopped catches TERM "$fit" "${words[@]}" data.csv
done
