# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a support bundle is made of, in the order of its worth: what comes first is there where the size is limited.

Only programs that read, and no file that has a key or a job's variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .._job.paths import UNITS, JobPaths
from .tails import Below

# A card in reset can hold hl-smi for as long as the driver's own time-out.
_HL_SMI_S, _OTHERS_S = 60.0, 30.0
_KIB = 1 << 10
_LARGE, _SMALL = 1024 * _KIB, 256 * _KIB
_TEXT = re.compile(r".*\.(?:log|txt|json|jsonl|out|err)(?:\.\d+)?")
# Lines of the kernel that are about the cards, what they hang on, or what took a process of theirs.
_OF_CARDS = re.compile(
    r"habana|\bhl\d|\baccel|\bnmi\b|\bmce\b|machine check|edac|\baer\b|pcie|iommu|out of memory|oom-kill|hung task"
    r"|blocked for more than|call trace|taint",
    re.IGNORECASE,
)
_STATES = ("ended.json", "status.json")


def is_text(name: str) -> bool:
    """By the end of its name, one of those that logs have."""
    return _TEXT.fullmatch(name.rpartition("/")[2]) is not None


def about_cards(text: str) -> str:
    """The kernel's lines that are."""
    return "".join(line for line in text.splitlines(keepends=True) if _OF_CARDS.search(line))


def _as_it_is(text: str) -> str:
    return text


def _a_word_a_line(text: str) -> str:
    """Where the first word is a variable, all of the line would be taken for its value."""
    return "".join(f"{word}\n" for word in text.split())


@dataclass(frozen=True)
class Program:
    """What ``argv`` says becomes the file ``name``: the last ``most`` bytes of what ``part`` keeps of it."""

    name: str
    argv: tuple[str, ...]
    timeout: float = _OTHERS_S
    most: int = _LARGE
    part: Callable[[str], str] = _as_it_is


@dataclass(frozen=True)
class OneFile:
    """The end of a file in a directory of root's, and of that what ``part`` makes of it, as the file ``name``."""

    name: str
    path: str
    most: int = _SMALL
    part: Callable[[str], str] = _as_it_is


@dataclass(frozen=True)
class Folder:
    """The ends of the newest files below a directory, below ``name``."""

    name: str
    below: Below


PROGRAMS = (
    Program("cards/hl-smi.txt", ("hl-smi",), _HL_SMI_S),
    Program("cards/hl-smi-list.txt", ("hl-smi", "-L"), _HL_SMI_S),
    Program("cards/firmware.txt", ("hl-smi", "--fw-versions"), _HL_SMI_S),
    Program("cards/lspci.txt", ("lspci", "-vv", "-d", "1da3:")),
    Program(
        "kernel/cards.txt",
        ("journalctl", "--dmesg", "--no-pager", "-o", "short-iso", "-n", "50000"),
        part=about_cards,
    ),
    Program("kernel/dmesg.txt", ("dmesg", "--time-format", "iso")),
    Program("kernel/uname.txt", ("uname", "-a")),
    Program("kernel/modules.txt", ("lsmod",)),
    Program("kernel/driver.txt", ("modinfo", "habanalabs")),
    Program("kernel/dkms.txt", ("dkms", "status")),
    Program("services/units.txt", ("systemctl", "list-units", "gaudi3-scale-*", "--all", "--no-pager", "--plain")),
    Program("services/failed.txt", ("systemctl", "--failed", "--no-pager", "--plain")),
    Program("services/jobs.txt", ("journalctl", "-u", UNITS, "--no-pager", "-o", "short-iso", "-n", "20000")),
    Program("network/links.txt", ("ip", "-brief", "link")),
)
FILES = (
    OneFile("kernel/command_line.txt", "/proc/cmdline", part=_a_word_a_line),
    OneFile("verdicts/qualification.json", "/var/lib/gaudi3_scale/qualify/verdict.json"),
    OneFile("verdicts/qualification_tests.jsonl", "/var/lib/gaudi3_scale/qualify/results.jsonl", _LARGE),
    OneFile("verdicts/driver.json", "/var/lib/gaudi3_scale/driver.json"),
    OneFile("verdicts/quarantine.json", "/etc/gaudi3_scale/quarantine.json"),
    OneFile("flags/environment.txt", "/etc/gaudi3_scale/environment"),
    OneFile("flags/modprobe.txt", "/etc/modprobe.d/habanalabs.conf"),
)
FOLDERS = (
    Folder(
        "kernel/dkms_build", Below("/var/lib/dkms/habanalabs", 5, lambda name: name.endswith("make.log"), 4, _LARGE)
    ),
    Folder("logs/gaudi3_scale", Below("/var/log/gaudi3_scale", 1, is_text, 20, _SMALL)),
    Folder("logs/habana", Below("/var/log/habana_logs", 3, is_text, 40, _SMALL)),
)


def of_job(job: JobPaths) -> list[Program | OneFile | Folder]:
    """What one training says of itself; neither its variables nor what its supervisor is told."""
    name = f"jobs/{job.name}"
    return [
        OneFile(f"{name}/job.json", job.description),
        OneFile(f"{name}/started.json", job.started),
        Folder(f"{name}/state", Below(job.directory, 1, lambda file: file in _STATES, len(_STATES), _SMALL)),
        Program(f"{name}/journal.txt", ("journalctl", "-u", job.unit, "--no-pager", "-o", "short-iso", "-n", "5000")),
        Folder(f"{name}/agent", Below(job.agent_logs, 1, is_text, 4, _LARGE)),
        Folder(f"{name}/logs", Below(job.logs, 5, is_text, 60, _SMALL)),
    ]
