# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Galaxy says of the artifact, from its own importer: no error, and no warning that anybody here could mend.

galaxy-importer reads the tarball as Galaxy does after an upload. What it would start for that is run beside it: flake8
in one process, where it starts one for each file; ansible-lint by the gate of that name, on the same unpacked tarball
and with fewer rules left out; ansible-test by the gate ``sanity``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from galaxy_importer import constants

from .artifact import build, program, unpack

SETTINGS = """[galaxy-importer]
run_ansible_doc = true
run_ansible_lint = false
run_ansible_test = false
run_flake8 = false
check_changelog = true
check_required_tags = true
ansible_local_tmp = {scratch}/ansible
"""
COMPLAINT = re.compile(r"^(?:WARNING|ERROR|CRITICAL): .+", re.MULTILINE)
# What nobody here can mend, and why. pycodestyle itself leaves these off unless it is asked, as Galaxy asks it.
FORMATTER = "`ruff format` writes it so, and a formatter is not argued with"
EXCUSED = {
    r"\d: E203 whitespace before ':'$": FORMATTER,
    r"\d: E704 multiple statements on one line \(def\)$": FORMATTER,
    r"\d: W503 line break before binary operator$": f"{FORMATTER}; the other way round is W504",
}
# What Galaxy shows a page of. It has none for the other kinds.
DOCUMENTED = {"module": "doc_strings", "role": "readme_html"}


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        tarball = build(scratch)
        imported = run_importer(tarball, scratch)
        said = [*complaints(imported.stdout), *flake8(unpack(tarball, scratch))]
        written = scratch / "importer_result.json"
        result = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    print(imported.stdout)
    mendable, excused = judged(said)
    for pattern, number in excused.items():
        print(f"{number:>4} times {pattern}: {EXCUSED[pattern]}")
    failures = mendable + undocumented(result)
    if imported.returncode and not failures:
        failures = [f"galaxy-importer ended with {imported.returncode}"]
    for line in failures:
        print(f"FAILED {line}")
    return 1 if failures else 0


def run_importer(tarball: Path, scratch: Path) -> subprocess.CompletedProcess[str]:
    """The importer's log is its standard output; it leaves its result in the directory that it runs in."""
    settings = scratch / "galaxy-importer.cfg"
    settings.write_text(SETTINGS.format(scratch=scratch), encoding="utf-8")
    # It looks for ansible-doc on the path, and is to see this collection alone.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GALAXY_IMPORTER_CONFIG": str(settings)}
    environment.pop("ANSIBLE_CONFIG", None)
    command = [sys.executable, "-m", "galaxy_importer.main", tarball.name]
    return subprocess.run(
        command, cwd=scratch, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )


def flake8(collection: Path) -> list[str]:
    """flake8's lines as the importer logs them, with its options."""
    rules = ["--extend-ignore", constants.FLAKE8_IGNORE_ERRORS, "--select", constants.FLAKE8_SELECT_ERRORS]
    width = ["--max-line-length", str(constants.FLAKE8_MAX_LINE_LENGTH)]
    command = [program("flake8"), "--exit-zero", "--isolated", *rules, *width, "plugins"]
    done = subprocess.run(command, cwd=collection, text=True, stdout=subprocess.PIPE, check=True)
    return [f"WARNING: {line}" for line in done.stdout.splitlines()]


def complaints(log: str) -> list[str]:
    return COMPLAINT.findall(log)


def judged(said: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """The complaints that somebody has to mend, and how often each excuse was needed."""
    mendable, excused = [], dict.fromkeys(EXCUSED, 0)
    for line in said:
        fitting = [pattern for pattern in EXCUSED if line.startswith("WARNING: ") and re.search(pattern, line)]
        if fitting:
            excused[fitting[0]] += 1
        else:
            mendable.append(line)
    return mendable, {pattern: number for pattern, number in excused.items() if number}


def undocumented(result: Mapping[str, Any]) -> list[str]:
    """What Galaxy would show an empty page of: the importer says nothing of documentation that it cannot read."""
    contents = result.get("docs_blob", {}).get("contents", [])
    return [
        f"{content['content_type']} {content['content_name']} has an empty page"
        for content in contents
        if content["content_type"] in DOCUMENTED and not content[DOCUMENTED[content["content_type"]]]
    ]


if __name__ == "__main__":
    sys.exit(main())
