# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What pip and venv print when they fail, as they printed it, and what an operator is told."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pip_install import (
    LAST_LINES,
    install,
    make,
    python_version,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import VenvOptions

OTHER_FILE = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions,
    sympy==1.14.0 from https://mirror.example.com/sympy-1.14.0.whl (from -r /x/requirements.txt (line 4)):
        Expected sha256 0000000000000000000000000000000000000000000000000000000000000000
             Got        37637d37401d94707d34e7446da41c6290803ba3eeb84c33a6f475ce612c16eb
"""
WITHOUT_HASH = """\
ERROR: In --require-hashes mode, all requirements must have their versions pinned with ==. These do not:
    einops from https://mirror.example.com/einops-0.8.whl (from -r /x/requirements.txt (line 3))
"""
OPTIONS = VenvOptions(
    path="/opt/venv",
    python="/usr/bin/python3",
    packages_url="https://v",
    release="1.24.1",
    index_url="https://mirror.example.com/simple",
    constraints="/etc/c.txt",
)
MISSING = """\
Looking in indexes: https://mirror.example.com/simple
ERROR: Could not find a version that satisfies the requirement datasets==0.1.0 (from versions: none)
ERROR: No matching distribution found for datasets==0.1.0
"""
UNREACHABLE = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new \
connection: [Errno 111] Connection refused')': /simple/lightning/
ERROR: Could not find a version that satisfies the requirement lightning>=2.6 (from versions: none)
ERROR: No matching distribution found for lightning>=2.6
"""
CONFLICT = """\
ERROR: Cannot install torch 2.11.0a0+git1 and x==1 because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/dependency-resolution/
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


def answers(rc: int, stdout: str = "", stderr: str = "") -> Any:
    return lambda _argv, **_more: CommandResult(rc, stdout, stderr)


@pytest.mark.parametrize(
    ("stderr", "said", "remedy"),
    [
        (
            MISSING,
            "Could not find a version that satisfies the requirement datasets==0.1.0 (from versions: none)",
            "correct requirements, or have the package put into https://mirror.example.com/simple",
        ),
        (UNREACHABLE, "lightning>=2.6", "check this node's route and proxy to https://mirror.example.com/simple"),
        (CONFLICT, "torch 2.11.0a0+git1 and x==1", "change requirements or pins so that they agree with each other"),
        (FULL, "No space left on device", "free space there, or choose another path"),
        ("Killed\n", "Killed", "see the lines below"),
        (
            OTHER_FILE,
            "sympy==1.14.0 from https://mirror.example.com/sympy-1.14.0.whl does not have the expected hash",
            "https://mirror.example.com/simple has another file than the expected one",
        ),
        (
            WITHOUT_HASH,
            "In --require-hashes mode, all requirements must have their versions pinned with ==",
            "give each package that is named below with its version and its hashes in pins, or set hashes to false",
        ),
    ],
)
def test_pips_failure_becomes_a_cause_and_a_remedy(stderr: str, said: str, remedy: str) -> None:
    with pytest.raises(GaudiError) as caught:
        install(OPTIONS, ["lightning"], "/tmp/x", answers(1, stderr=stderr))
    sentence, head, *end = str(caught.value).splitlines()
    assert sentence.startswith("pip cannot fill the training environment /opt/venv: ")
    assert said in sentence
    assert remedy in sentence.rsplit(";", 1)[1]
    assert head == "The last lines are:"
    assert end == stderr.splitlines()[-LAST_LINES:]


def test_pip_runs_inside_the_environment_with_the_constraints() -> None:
    seen: list[Any] = []

    def run(argv: Any, **more: Any) -> CommandResult:
        seen.append((list(argv), more))
        return CommandResult(0, "", "")

    install(OPTIONS, ["/x/torch.whl", "lightning"], "/scratch", run)
    ((argv, more),) = seen
    assert argv[:5] == ["/opt/venv/bin/python", "-I", "-m", "pip", "install"]
    assert argv[-4:] == ["-c", "/etc/c.txt", "/x/torch.whl", "lightning"]
    assert more == {"timeout": 3600, "env": {"TMPDIR": "/scratch", "PIP_REQUIRE_VIRTUALENV": "1"}}


def test_nothing_to_install_starts_nothing() -> None:
    install(OPTIONS, [], "/scratch", lambda _argv, **_more: pytest.fail("ran"))


def test_a_python_without_ensurepip_is_told_with_its_package() -> None:
    trace = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'ensurepip'\n"
    with pytest.raises(GaudiError, match=r"cannot make a virtual environment \(.*'ensurepip'\); install its venv"):
        python_version(OPTIONS, answers(1, stderr=trace))
    assert python_version(OPTIONS, answers(0, "3 12\n")) == (3, 12)


def test_venvs_failure_names_the_program() -> None:
    with pytest.raises(GaudiError, match=r"^/usr/bin/python3 -m venv cannot fill .* /opt/venv: boom"):
        make(OPTIONS, answers(1, stderr="boom\n"))
