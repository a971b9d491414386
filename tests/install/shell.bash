#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shell.bash ROOT: fails if ShellCheck finds a fault in a shell script of ROOT.
set -euo pipefail
cd "$1"
if ! command -v shellcheck >/dev/null; then
  echo "SKIPPED: shellcheck is not installed"
  exit 0
fi
programs=()
parts=() # what others source: variables come from and go to those, and so does the end at an error
while read -r file; do
  if [[ $(head -c 64 "$file" | head -n 1 | tr -d '\0') =~ ^#!.*[/\ ]bash ]]; then
    programs+=("$file")
  elif [[ $file == *.bash ]]; then
    parts+=("$file")
  fi
done < <(find .ci .devcontainer jobscripts scripts tests -type f -not -path 'tests/data/*' -not -path '*/corpus/*' | LC_ALL=C sort)
((${#programs[@]} && ${#parts[@]})) || { echo "shell.bash: found no scripts in $1" >&2; exit 1; }
status=0
shellcheck "${programs[@]}" || status=1
shellcheck --shell=bash --exclude=SC2034,SC2154,SC2164 "${parts[@]}" || status=1
exit "$status"
