#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.bash FOLDER: makes the wheel in FOLDER, installs it into an environment that has nothing else, fits a model there,
# and runs the tests of the package on it. $TESSERA_FIT is the program that they compare with.
set -euo pipefail
folder=$(realpath -m "$1")
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
unset TESSERA_GAM_LIBRARY PYTHONPATH
rm -rf "$folder"/*.whl "$folder/venv"
"$tests/../../scripts/make-wheel" "$folder"
python=$folder/venv/bin/python
"${PYTHON:-python3}" -m venv "$folder/venv"
"$python" -m pip install --quiet --disable-pip-version-check "$folder"/tessera_gam-*.whl
cd /
env --ignore-environment PATH=/usr/bin:/bin "$python" - <<'EOF'
import numpy as np
from tessera_gam import GAM

x = np.linspace(0, 1, 2000)
fit = GAM("y ~ s(x)").fit({"x": x, "y": np.sin(6 * x)}).predict({"x": x})
assert abs(fit - np.sin(6 * x)).max() < 0.02, fit
EOF
"$python" -m pip install --quiet --disable-pip-version-check --requirement "$tests/requirements.txt"
failed=0
for test in "$tests"/test_*.py; do
  echo "== $(basename "$test")"
  status=0
  "$python" "$test" || status=$?
  ((status == 0 || status == 77)) || failed=1
done
exit "$failed"
