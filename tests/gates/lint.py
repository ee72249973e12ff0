# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""ansible-lint, profile production and nothing skipped: what is shipped as Galaxy unpacks it, then the rest here.

Galaxy's importer lints the same files with the same profile and leaves six rules out; so this says all that it would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .artifact import build, program, unpack
from .runner import ROOT

# Shipped whole, as the gate `artifact` holds.
SHIPPED = ("meta", "playbooks", "plugins", "roles")
# Each violation in one line with its place, which the summary of all gates repeats.
LINT = (program("ansible-lint"), "--offline", "--profile", "production", "--format", "pep8")


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        collection = unpack(build(Path(scratch)), Path(scratch))
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": scratch}
        environment.pop("ANSIBLE_CONFIG", None)
        # Its YAML is written by antsibull-changelog, and the gate `changelog` judges it.
        shipped = subprocess.run([*LINT, "--exclude", "changelogs/"], cwd=collection, env=environment, check=False)
    # It finds files by patterns as git's, in which a slash in front means this directory and no other of that name, and
    # compares those that they include by their whole paths.
    excluded = [pattern for name in SHIPPED for pattern in (f"/{name}/", f"{ROOT / name}/")]
    rest = subprocess.run(
        [*LINT, "--config-file", ".config/ansible-lint.yml", "--exclude", *excluded], cwd=ROOT, check=False
    )
    return shipped.returncode or rest.returncode


if __name__ == "__main__":
    sys.exit(main())
