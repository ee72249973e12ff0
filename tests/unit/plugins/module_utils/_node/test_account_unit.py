# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What systemd is asked for where root starts a program of another account, and what comes back."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node import account_unit
from ansible_collections.gaudi3.scale.plugins.module_utils._node.account_unit import run_as
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process

SAID = CommandResult(0, "said\n", "")
NOBODY = pwd.getpwnam("nobody")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another account")


class Systemd:
    """Answers for systemd-run, and keeps what it was asked and what the file of variables had."""

    def __init__(self, answer=SAID):
        self.answer = answer
        self.asked: list[list[str]] = []
        self.variables = ""
        self.mode = 0

    def __call__(self, argv, **_more):
        self.asked.append(list(argv))
        (file,) = [word.rpartition("=")[2] for word in argv if word.startswith("--property=EnvironmentFile=")]
        self.variables, self.mode = Path(file).read_text(), stat.S_IMODE(Path(file).stat().st_mode)
        self.file = Path(file)
        self.program = argv[argv.index("--") + 1 :]
        script = Path(self.program[-1])
        if script.is_file() and script.parent == self.file.parent:
            self.script, self.readers = script.read_text(), stat.S_IMODE(script.stat().st_mode)
        return self.answer


@pytest.fixture
def booted(tmp_path, monkeypatch):
    monkeypatch.setattr(account_unit, "BOOTED", str(tmp_path))
    monkeypatch.setattr(account_unit, "_HANDED_OVER", str(tmp_path))


@pytest.mark.usefixtures("booted")
def test_it_is_a_unit_of_the_accounts_with_an_end_and_without_powers(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/root/agent")
    monkeypatch.setenv("HOME", "/root")
    systemd = Systemd()
    assert (
        run_as(NOBODY, ["sh", "-c", "echo said", "sh"], systemd, timeout=9.5, env={"TOKEN": 's"3 cret'}).stdout
        == "said\n"
    )
    (argv,) = systemd.asked
    assert argv[:6] == ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--uid=nobody"]
    wanted = ("NoNewPrivileges=yes", "KillMode=control-group", "RuntimeMaxSec=10", "CapabilityBoundingSet=")
    assert {f"--property={line}" for line in wanted} <= set(argv)
    # Its whole path, since systemd looks elsewhere.
    assert systemd.program[0].endswith("/sh") and systemd.program[1:] == ["-c", "echo said", "sh"]
    # Variables may be secrets: everybody can ask for the words of a program and for the properties of a unit.
    assert "cret" not in " ".join(argv)
    assert systemd.mode == 0o600 and not systemd.file.exists()
    lines = systemd.variables.splitlines()
    assert 'TOKEN="s\\"3 cret"' in lines and "HTTPS_PROXY=http://proxy" in lines
    assert not [line for line in lines if line.startswith(("HOME=", "SSH_"))]


@pytest.mark.usefixtures("booted")
@pytest.mark.parametrize("word", ['made=$(mktemp "$1") && echo "$made"', "import os; print(os.getpid())"])
def test_words_that_a_reload_of_systemd_changes_are_no_words_of_the_unit(word):
    """Seen of 252: "a;b" became "a\\;b", and $$ of what was asked for stayed $$, in one of four runs beside reloads."""
    systemd = Systemd()
    run_as(NOBODY, ["sh", "-c", word, "two words"], systemd, timeout=9)
    (argv,) = systemd.asked
    assert not [one for one in argv if "$" in one or ";" in one]
    # The account reads it, as a member of its group; it may be nobody else's business.
    assert systemd.readers == 0o640 and not Path(systemd.program[-1]).exists()
    exec_, *words = shlex.split(systemd.script)
    assert exec_ == "exec" and words[0].endswith("/sh") and words[1:] == ["-c", word, "two words"]


@pytest.mark.usefixtures("booted")
def test_what_systemd_had_to_end_is_told_as_what_ran_past_its_time(monkeypatch):
    times = iter([0.0, 60.1])
    monkeypatch.setattr(account_unit.time, "monotonic", lambda: next(times))
    done = run_as(NOBODY, ["sh"], Systemd(CommandResult(1, "", "")), timeout=60)
    assert done == CommandResult(124, "", "sh: timed out after 60 s")


@pytest.mark.usefixtures("booted")
def test_what_is_not_there_is_told_as_where_nobody_asks_systemd():
    assert run_as(NOBODY, ["no-such-program"], Systemd(), timeout=1).rc == 127
    assert run_as(NOBODY, ["sh"], Systemd(CommandResult(203, "", "")), timeout=1).rc == 126


def test_the_callers_own_account_needs_no_unit():
    def run(argv, **more):
        return CommandResult(0, f"{list(argv)} {more}", "")

    own = pwd.getpwuid(os.geteuid())
    assert run_as(own, ["true"], run, timeout=3).stdout == "['true'] {'timeout': 3, 'env': None}"


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd is here")
def test_without_systemd_it_still_runs_as_the_account():
    assert run_as(NOBODY, ["id", "-un"], run_process, timeout=10).stdout == "nobody\n"
