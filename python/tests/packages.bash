#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.bash VENV PYTHON: makes an environment with what the tests install from PyPI. Where that cannot be reached it
# has what PYTHON has, and tests skip what they miss.
set -euo pipefail
venv=$1 python=$2 requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
cmp --silent "$requirements" "$venv/requirements.txt" && exit
rm -rf "$venv"
if "$python" -m venv --system-site-packages "$venv" &&
  "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --requirement "$requirements"; then
  cp "$requirements" "$venv"
else
  "$python" -m venv --system-site-packages --without-pip --clear "$venv"
  echo "SKIPPED: PyPI cannot be reached, or $python has no ensurepip"
fi
