#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""workflows.py ROOT: fails unless each workflow file of ROOT does nothing but call scripts that are there, with parts
that they know, by actions that are pinned, with no more rights than to read; and unless every part of a lane is called
by one of them. The templates of issues and the container for development can be read, too."""
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("SKIPPED: Python has no module yaml (python3-yaml)")
    sys.exit(0)

root = Path(sys.argv[1])
faults = []
called = {"run-change": set(), "run-nightly": set()}


def parts(script):
    return set(subprocess.run([root / "scripts" / script, "--list"], check=True, capture_output=True, text=True).stdout.split())


def expanded(text, matrix):
    """The text with each combination of the matrix's values in place of ${{ matrix.NAME }}."""
    names = [name for name in matrix if isinstance(matrix[name], list)]
    for values in itertools.product(*(matrix[name] for name in names)):
        one = text
        for name, value in zip(names, values):
            one = one.replace("${{ matrix.%s }}" % name, str(value))
        yield one


def check_command(where, command):
    match = re.fullmatch(r"scripts/([a-z-]+)((?: [a-z0-9-]+)*)", command)
    script = root / "scripts" / match[1] if match else None
    if not match or not script.is_file() or not script.stat().st_mode & 0o100:
        faults.append(f"{where}: '{command}' is no call of a script that is there")
        return
    arguments = set(match[2].split())
    if match[1] in called:
        called[match[1]] |= arguments or parts(match[1])
        for unknown in sorted(arguments - parts(match[1])):
            faults.append(f"{where}: {match[1]} has no part {unknown}")
    elif match[1] == "install-packages":
        for unknown in sorted(arguments):
            if f"== {unknown} " not in script.read_text():
                faults.append(f"{where}: install-packages knows no {unknown}")


for file in sorted((root / ".github" / "workflows").glob("*.yml")):
    workflow = yaml.safe_load(file.read_text())
    if workflow.get("permissions") != {"contents": "read"}:
        faults.append(f"{file.name}: the permissions are not those to read the contents")
    for name, job in workflow["jobs"].items():
        where = f"{file.name}: {name}"
        if "timeout-minutes" not in job:
            faults.append(f"{where} has no time limit")
        for step in job["steps"]:
            if "uses" in step and not re.fullmatch(r"actions/[a-z-]+(/[a-z]+)?@[0-9a-f]{40}", step["uses"]):
                faults.append(f"{where}: {step['uses']} is not pinned to a commit of GitHub's own actions")
            for command in expanded(step.get("run", ""), job.get("strategy", {}).get("matrix", {})):
                if "run" in step:
                    check_command(where, command)

for file in sorted((root / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
    template = yaml.safe_load(file.read_text())
    if file.name != "config.yml" and not all(template.get(key) for key in ("name", "description", "body")):
        faults.append(f"{file.name}: a template has a name, a description and a body")
folder = root / ".devcontainer"
container = json.loads((folder / "devcontainer.json").read_text())
if not (folder / container["build"]["dockerfile"]).is_file():
    faults.append(f"devcontainer.json: there is no {container['build']['dockerfile']}")

# The two commands of README.md are parts of run-change.
text = (root / ".github" / "workflows" / "change.yml").read_text()
called["run-change"] |= {part for part in ("example", "tests") if f"run: scripts/run-{part}\n" in text}
for script, these in called.items():
    for part in sorted(parts(script) - these):
        faults.append(f"no workflow calls the part {part} of {script}")
for fault in faults:
    print(fault, file=sys.stderr)
sys.exit(1 if faults else 0)
