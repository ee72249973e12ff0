# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make`` beside another apt waits for its lock and says so; every other error of apt's ends it at once."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

FUNCTIONS = r"^(?:say\(\) [^\n]*|stop\(\) [^\n]*|readonly APT_[^\n]*|apt_in_turn\(\) \{\n.*?^\})$"
SETUP = Path(__file__).resolve().parents[3] / "scripts" / "setup"
# As apt 2.6 of Debian 12 says it.
HELD = (
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?"
)
LISTS_HELD = (
    "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)\n"
    "E: Unable to lock directory /var/lib/apt/lists/"
)
ABSENT = "E: Unable to locate package no-such-package"


def parts() -> str:
    """The function with what it uses, out of the script, whose other steps install this checkout."""
    text = SETUP.read_text(encoding="utf-8")
    found = re.findall(FUNCTIONS, text, re.MULTILINE | re.DOTALL)
    assert len(found) == 4
    return "\n".join(part.replace("APT_POLL_S=3", "APT_POLL_S=1") for part in found)


def install(tmp_path: Path, error: str, times: int) -> subprocess.CompletedProcess[str]:
    """Run it with an apt-get that fails so often before it installs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    calls = tmp_path / "calls"
    calls.touch()
    apt = programs / "apt-get"
    apt.write_text(
        f"#!/bin/sh\necho \"$*\" >>{calls}\n[ $(wc -l <{calls}) -gt {times} ] && exit 0\necho '{error}' >&2\nexit 100\n"
    )
    apt.chmod(0o755)
    script = f"set -euo pipefail\n{parts()}\napt_in_turn install --yes tree\necho installed"
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("error", [HELD, LISTS_HELD], ids=["dpkg", "lists"])
def test_it_waits_for_another_apt_and_says_once_whose_lock_it_is(tmp_path: Path, error: str) -> None:
    done = install(tmp_path, error, times=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Waiting up to 900 s for another apt: E: Could not get lock") == 1
    assert "process 7 (apt-get)" in done.stdout
    assert done.stdout.endswith("installed\n")


def test_another_error_ends_it_at_once_with_the_words_of_apt(tmp_path: Path) -> None:
    done = install(tmp_path, ABSENT, times=1)
    assert done.returncode == 1
    assert (done.stdout, done.stderr.strip()) == ("", ABSENT)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
