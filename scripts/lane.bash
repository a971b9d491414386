# SPDX-License-Identifier: Apache-2.0
# Functions for run-change and run-nightly, which source this file in the repository's root after common.bash.

# In a container of continuous integration, another user owns the checkout, which git does not trust by default.
trust_checkout() {
  [[ ${CI-} == true && -e .git ]] || return 0
  git rev-parse --quiet HEAD &>/dev/null && return
  git config --global --add safe.directory "$PWD"      # for commands in the checkout
  git config --global --add safe.directory "$PWD/.git" # for clones of the checkout
}

# run_lane NAME PACKAGES [--list | PART...]: installs PACKAGES (see install-packages), and runs the named parts, or all,
# with logs in build/NAME. --list only lists the parts. Reads the caller's arrays `parts` (all parts, in order),
# `minutes` (timeouts, which count as failures) and `commands`. A failure does not stop later parts; the last lines
# summarise all results. Returns 1 if a part failed, and 2 for an unknown part.
run_lane() {
  local lane=$1 packages=$2 part log status failed=0 results=()
  shift 2
  if [[ ${1-} == --list ]]; then
    printf '%s\n' "${parts[@]}"
    return 0
  fi
  (($#)) || set -- "${parts[@]}"
  for part in "$@"; do
    [[ -v commands[$part] ]] && continue
    echo "run-$lane: there is no part $part; there are: ${parts[*]}" >&2
    return 2
  done
  scripts/install-packages "$packages" || return
  trust_checkout
  mkdir -p "build/$lane"
  for part in "$@"; do
    log=build/$lane/$part.log
    say "$part: at most ${minutes[$part]} minutes, log in $log"
    status=0
    timeout --kill-after=60 "${minutes[$part]}m" bash -c "${commands[$part]}" >"$log" 2>&1 || status=$?
    if ((status == 0)); then
      results+=("$part: passed")
    else
      failed=1
      results+=("$part: FAILED with status $status, see $log")
      tail -40 "$log"
    fi
  done
  say "Results"
  printf '%s\n' "${results[@]}"
  return "$failed"
}
