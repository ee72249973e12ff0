# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What systemd's units of Slurm's daemons say of this host: program, configuration, name, and whose file it is.

Written after slurmd(8), slurmctld(8) and what systemctl(1) of 247 to 257 shows of ``ExecStart=``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._node.commands import Run
from .._node.rendered_files import read_text

UNITS = {"slurmctld": "slurmctld.service", "slurmd": "slurmd.service"}
_TIMEOUT_S = 20
_FILE = re.compile(r"(?P<path>/.*?)(?: \(ignore_errors=(?:yes|no)\))?$")
_COMMAND = re.compile(r"argv\[\]=(?P<words>.*?) ; (?:ignore_errors|flags)=")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")
# $NAME as a word of its own is as many words as it has; ${NAME} is a part of one (systemd.exec(5)).
_WORD = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PART = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Letters of either daemon that take no word of their own and may stand before one that does, as in -Df FILE.
_ALONE = "bBcCdDGhiMrRsSvVZ"


@dataclass(frozen=True)
class Daemon:
    """``program`` is that of ``ExecStart=``, ``configuration`` what -f or SLURM_CONF names, ``node`` what -N names.

    ``controller`` is what --conf-server names: the daemon then has the configuration from there.
    """

    program: str
    configuration: str = ""
    node: str = ""
    controller: str = ""


def read_daemons(run: Run) -> dict[str, Daemon]:
    """The daemons that systemd has a unit of, by name; the controller's first."""
    daemons = {name: _daemon(name, _shown(unit, run)) for name, unit in UNITS.items()}
    return {name: daemon for name, daemon in daemons.items() if daemon}


def _shown(unit: str, run: Run) -> list[tuple[str, str]]:
    """The unit's properties as pairs: EnvironmentFiles is there once for each file."""
    wanted = "ExecStart,Environment,EnvironmentFiles"
    done = run(["systemctl", "show", unit, "--property", wanted], timeout=_TIMEOUT_S)
    pairs = (line.partition("=") for line in done.stdout.splitlines()) if done.rc == 0 else ()
    return [(name, value) for name, _equals, value in pairs]


def _daemon(name: str, shown: Sequence[tuple[str, str]]) -> Daemon | None:
    variables: dict[str, str] = {}
    for key, value in shown:
        if key == "Environment":
            variables.update(_assignments([value]))
    for key, value in shown:
        match = _FILE.match(value) if key == "EnvironmentFiles" else None
        if match:
            variables.update(_assignments((read_text(match["path"]) or "").splitlines(), whole=True))
    for key, value in shown:
        command = _COMMAND.search(value) if key == "ExecStart" else None
        words = list(_expanded(command["words"].split(), variables)) if command else []
        place = next((at for at, word in enumerate(words) if Path(word).name.startswith(name)), None)
        if place is not None:
            return _from_words(words[place:], variables.get("SLURM_CONF", ""))
    return None


def _from_words(words: Sequence[str], configuration: str) -> Daemon:
    return Daemon(
        words[0],
        _given(words, "f") or configuration,
        _given(words, "N"),
        _given(words, "conf-server"),
    )


def _given(words: Sequence[str], option: str) -> str:
    """The value of an option, of two the last: ``-f x``, ``-fx``, ``-Df x``, ``--opt x``, ``--opt=x``."""
    long = rf"--{option}(?:=(.*))?" if len(option) > 1 else rf"-[{_ALONE}]*{option}(.+)?"
    found = ""
    for word, following in zip(words, [*words[1:], ""]):
        match = re.fullmatch(long, word)
        if match:
            found = match[1] if match[1] is not None else following
    return found


def _assignments(lines: Sequence[str], *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """``A=b "C=d e"`` of a property, or with ``whole`` a line each as a file for systemd has them."""
    for line in lines:
        if line.lstrip().startswith(("#", ";")):
            continue
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if whole:
            match = _ASSIGNMENT.match(line)
            words = [f"{match[1]}={' '.join(shlex.split(match[2]))}"] if match else []
        for name, equals, value in (word.partition("=") for word in words):
            if equals:
                yield name, value


def _expanded(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    for word in words:
        match = _WORD.fullmatch(word)
        if match:
            yield from variables.get(match[1], "").split()
        else:
            yield _PART.sub(lambda part: variables.get(part[1], ""), word)
