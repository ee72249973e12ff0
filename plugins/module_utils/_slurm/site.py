# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where this host has its Slurm: configuration and programs, as the site has set it up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.root_program import require_roots
from .units import Daemon, read_daemons

FILE = "slurm.conf"
# Below /etc as distributions have it, and below the prefixes of builds from source and of AWS ParallelCluster.
PLACES = ("slurm", "slurm-llnl")
PREFIXES = ("opt/slurm", "usr/local", "usr/local/slurm")
# What a slurmd gets from its controller is kept there (slurm.conf(5), SlurmdSpoolDir; slurmd(8), --conf-server).
_CACHES = ("conf-cache", "run/slurm/conf")
# Every program is looked for there in any case.
_COMMON = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
CONFIGURATION_OPTION, PROGRAMS_OPTION = "gaudi_slurm_configuration", "gaudi_slurm_programs"


@dataclass(frozen=True)
class SlurmSite:
    """``configuration`` "": this host has no slurm.conf of its own; its slurmd may have the controller's.

    ``directories`` are those of the programs where not every search path has them, ``told`` the file that the
    programs have to be told of, ``node`` the name that the unit gives its slurmd; "" where there is none.
    """

    configuration: str = ""
    directories: tuple[str, ...] = ()
    told: str = ""
    node: str = ""

    @property
    def directory(self) -> str:
        return str(Path(self.configuration).parent) if self.configuration else ""

    @property
    def environment(self) -> dict[str, str]:
        """What Slurm's programs need around them here; empty for a distribution's Slurm."""
        path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        further = [one for one in self.directories if one not in path.split(":")]
        found = {"PATH": ":".join([*further, path])} if further else {}
        return {**found, "SLURM_CONF": self.told} if self.told else found


NO_SITE = SlurmSite()


def find_site(run: Run, etc: str = "/etc", configuration: str = "", programs: str = "") -> SlurmSite:
    """This host's Slurm: what the options say, else the units of its daemons, else the usual places below ``etc``.

    Raises GaudiError for a file that is named and not there, and where two could be meant.
    """
    daemons = read_daemons(run)
    if programs and not Path(programs).is_dir():
        raise GaudiError(
            f"{PROGRAMS_OPTION} is {programs}, which is not a directory on this host; give the one that has scontrol."
        )
    if programs:
        require_roots(programs, PROGRAMS_OPTION)
    root = Path(etc).parent
    directories = _directories([programs] if programs else _homes(daemons.values(), root))
    node = daemons["slurmd"].node if "slurmd" in daemons else ""
    named = configuration or next((one.configuration for one in daemons.values() if one.configuration), "")
    if named:
        _require(named, bool(configuration), daemons)
        return SlurmSite("" if _is_cached(named) else named, directories, named, node)
    if daemons and all(one.controller for one in daemons.values()):
        # Also where a file of before lies about: this slurmd does not read it.
        return SlurmSite("", directories, "", node)
    found = _only(_usual(daemons.values(), root, etc))
    return SlurmSite("" if found and _is_cached(found) else found, directories, "", node)


def _usual(daemons: Iterable[Daemon], root: Path, etc: str) -> list[str]:
    """Where a program looks that nobody has told: below its own prefix, or in /etc."""
    of_daemons = [Path(one.program).parent.parent for one in daemons if one.program.startswith("/")]
    prefixes = of_daemons or [root / prefix for prefix in PREFIXES]
    places = [
        *(place for prefix in prefixes for place in (prefix / "etc", prefix / "etc/slurm")),
        *(Path(etc, place) for place in PLACES),
    ]
    return [str(place / FILE) for place in places if (place / FILE).is_file()]


def _only(found: list[str]) -> str:
    """The file; several names of one are one."""
    others = [path for path in found[1:] if not Path(path).samefile(found[0])]
    if others:
        raise GaudiError(
            f"There are {found[0]} and {others[0]}, and no unit of slurmd or slurmctld says which of them counts; set "
            f"{CONFIGURATION_OPTION} to the one that does, or remove the other."
        )
    return found[0] if found else ""


def _require(path: str, is_option: bool, daemons: Mapping[str, Daemon]) -> None:
    if not Path(path).is_file():
        whose = f"{CONFIGURATION_OPTION} is" if is_option else f"The unit of {' and '.join(daemons)} names"
        raise GaudiError(
            f"{whose} {path}, and there is no such file on this host; correct it, or set {CONFIGURATION_OPTION} to the "
            "slurm.conf that counts."
        )


def _is_cached(path: str) -> bool:
    """Whether it is a slurmd's copy of its controller's; a link in /etc may lead there."""
    return any(f"/{place}/" in name for name in (path, os.path.realpath(path)) for place in _CACHES)


def _homes(daemons: Iterable[Daemon], root: Path) -> list[str]:
    """The directories of the daemons' programs, as the units have them and as links lead to them."""
    programs = [one.program for one in daemons if one.program.startswith("/")]
    usual = [str(root / prefix / "sbin/slurmd") for prefix in PREFIXES]
    found = programs or [path for path in usual if Path(path).is_file()]
    return [str(Path(name).parent) for path in found for name in (path, os.path.realpath(path))]


def _directories(homes: Iterable[str]) -> tuple[str, ...]:
    """Those, and bin and sbin beside them, as far as they are there."""
    near = [place for home in homes for place in (Path(home), Path(home).parent / "bin", Path(home).parent / "sbin")]
    return tuple(dict.fromkeys(str(place) for place in near if place.is_dir() and str(place) not in _COMMON))
