# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What each flag of a list, of an environment file or of a running job is worth on this node. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Union

from .._errors import GaudiError
from .._job.paths import JobPaths, check_name
from .._job.processes import parse_environ, rank_process
from .._node.commands import Run
from .._node.environment_file import parse, provenances
from .._node.hand_edits import find_edit
from .._node.rendered_files import read_text
from .._node.systemd_units import unit_properties
from .._releases.lookup import find_release, version_key
from .._releases.table import RELEASES
from .bridge import GAUDI_PREFIXES, InstalledBridge, read_bridge
from .catalog.catalog import find_flag, nearest_names, other_program
from .catalog.rejected import find_rejected, set_by_launcher
from .harms import Target
from .judgment import judge_flags
from .profiles import NETWORKS, PROFILES, known, target_of
from .state import WRITTEN_BY
from .vendor import ORIGIN

# Eager mode became the default with 1.21; 1.20 was not seen.
_FIRST_EAGER = (1, 20)

Flags = Union[Sequence[str], Mapping[str, object]]


@dataclass(frozen=True)
class ExplainOptions:
    """Exactly one of ``flags``, ``file`` and ``job`` is given; the others are empty.

    An empty ``release`` is that of the installed bridge, else the newest that is known; an empty ``profile`` is read
    from the flags; an empty ``network`` is not known, so nothing is said about it.
    """

    flags: Flags = ()
    file: str = ""
    job: str = ""
    release: str = ""
    profile: str = ""
    network: str = ""
    venv: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    stock_torch: bool | None = None
    proc: str = "/proc"


def explain(options: ExplainOptions, run: Run) -> dict[str, object]:
    """The verdicts, who judged, and for a file what was changed in it by hand; always with the same keys.

    Raises :class:`GaudiError` for options that cannot be meant, a file that is not there or cannot be read, and a
    job that does not run here.
    """
    _check(options)
    bridge = read_bridge(options.venv)
    source, variables = _variables(options, run)
    flags = {name: text for name, text in variables.items() if options.flags or is_meant(name, bridge)}
    target, profile = _target(options, flags, bridge)
    edit = find_edit(options.file, WRITTEN_BY) if options.file else None
    origins = provenances(read_text(options.file) or "") if options.file else {}
    # That a release's own packages set a variable is evidence enough that it reads it.
    chosen = [name for name in flags if not origins.get(name, "").startswith(f"{ORIGIN}: ")]
    # A file that the collection never wrote is no edited one.
    edited = edit.lines() if edit and edit.written else []
    return {
        "changed": False,
        "source": source,
        "release": ".".join(map(str, target.release)),
        "profile": profile,
        "modes": list(target.modes),
        "network": options.network,
        "bridge": bridge.version or bridge.file if bridge else "",
        "judged_by": target.bridge.label if target.bridge else "catalog",
        "flags": [{**asdict(one), "origin": origins.get(one.name, "")} for one in judge_flags(flags, target, chosen)],
        "other_variables": sorted(set(variables) - set(flags)),
        "hand_edit": edited,
    }


def is_meant(name: str, bridge: InstalledBridge | None) -> bool:
    """Whether a variable among others is a flag, or was meant to be one; what the launcher sets is not."""
    if set_by_launcher(name) or other_program(name):
        return False
    known = find_flag(name) is not None or find_rejected(name) is not None or (bridge is not None and bridge.has(name))
    return known or name.startswith(GAUDI_PREFIXES) or bool(nearest_names(name, count=1))


def listed(flags: Flags) -> dict[str, str]:
    """A list of ``NAME=value``, or a mapping, as a mapping of texts."""
    if isinstance(flags, str):
        # A variable of the command line arrives as one text; commas inside of a value belong to it.
        flags = re.split(r"[\s,]+(?=[A-Za-z_][A-Za-z0-9_]*=)", flags.strip())
    pairs = flags.items() if isinstance(flags, Mapping) else map(_pair, flags)
    found: dict[str, str] = {}
    for name, value in pairs:
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, (str, int, float)):
            raise GaudiError(f"flags: {name} is {value!r}; give one text or number.")
        if name in found and found[name] != str(value):
            raise GaudiError(f"flags: {name} is given twice, as {found[name]!r} and {str(value)!r}; give it once.")
        found[name] = str(value)
    return found


def _pair(text: object) -> tuple[str, str]:
    name, equals, value = str(text).partition("=")
    if not equals or not name.strip():
        raise GaudiError(f"flags: {text!r} is not NAME=value; write for example PT_HPU_LAZY_MODE=0.")
    return name.strip().removeprefix("export ").strip(), value


def _check(options: ExplainOptions) -> None:
    given = [name for name in ("flags", "file", "job") if getattr(options, name)]
    if len(given) != 1:
        raise GaudiError(f"{' and '.join(given) or 'nothing'} is given to explain; give one of flags, file and job.")
    if options.profile:
        known("profile", options.profile, PROFILES)
    if options.network:
        known("network", options.network, NETWORKS)


def _variables(options: ExplainOptions, run: Run) -> tuple[str, dict[str, str]]:
    if options.flags:
        return "the list that was given", listed(options.flags)
    if options.file:
        text = read_text(options.file)
        if text is None:
            raise GaudiError(
                f"There is no file {options.file} on this node; name another, or run the playbook flags first.",
                file=options.file,
            )
        return options.file, parse(text, options.file)
    process = _process(options.job, options.proc, run)
    return f"process {process} of job {options.job}", process_environment(f"{options.proc}/{process}/environ")


def _process(job: str, proc: str, run: Run) -> str:
    """A rank, as far as there is one: Slurm and mpirun start theirs on nodes on which no unit runs."""
    unit = JobPaths(check_name(job)).unit
    if process := rank_process(job, proc):
        return process
    process = unit_properties(run, unit, "MainPID").get("MainPID", "0")
    if process in ("", "0"):
        raise GaudiError(f"Job {job} does not run on this node; name a job that runs, or explain a file.", unit=unit)
    return process


def process_environment(path: str) -> dict[str, str]:
    """What a process was started with (proc(5), ``/proc/<pid>/environ``)."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; does the process still run?", file=path) from error
    return parse_environ(data)


def _target(options: ExplainOptions, flags: Mapping[str, str], bridge: InstalledBridge | None) -> tuple[Target, str]:
    if options.release:
        release = version_key(find_release(options.release, options.release_overrides).version)[:2]
    else:
        newest = max(version_key(version)[:2] for version in RELEASES)
        release = (bridge.release if bridge else None) or newest
    profile = options.profile or guessed_profile(flags, release)
    return target_of(profile, options.network, release, options.stock_torch, bridge), profile


def guessed_profile(flags: Mapping[str, str], release: tuple[int, ...]) -> str:
    """The kind of job that these flags are for: lazy mode by its switch or its release's default, vLLM by its names."""
    if flags.get("PT_HPU_LAZY_MODE", "1" if release < _FIRST_EAGER else "0") == "1":
        return "training_lazy"
    return "inference_vllm" if any(name.startswith("VLLM_") for name in flags) else "training_compile"
