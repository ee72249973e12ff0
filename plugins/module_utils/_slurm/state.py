# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The fragments and the health check of one host, as files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.option_forms import check_place, check_range, check_version
from .._node.rendered_files import WantedFile, differences, pending, write
from .._node.root_program import root_python
from .._node.unit_hardening import ASKS_CARDS, capability_lines
from .configuration import read_configuration
from .fragments import GRES_FILE, SLURM, Wanted, gres_text, require_include, slurm_text
from .gres import Gres, site_gres
from .node import SlurmNode, check_name
from .site import CONFIGURATION_OPTION, PREFIXES, SlurmSite, find_site

HEALTH_CHECK, NHC = "gaudi3_scale/slurm_health_check", "gaudi3_scale/nhc.conf"
# Slurm ends the program after a minute.
SECONDS = 50
# It asks hl-smi and Slurm's programs, which a site may have below /home, and who holds the cards.
CONFINED = (
    *ASKS_CARDS,
    "ProtectHome=read-only",
    *capability_lines(("CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE")),
)
# slurm.conf(5) has it in 16 bits; 0 would switch the check off.
_LONGEST_INTERVAL = 65535


@dataclass(frozen=True)
class Options:
    """See the options of the module ``slurm_fragments``."""

    nodes: Sequence[SlurmNode]
    node: str
    release: str
    cards: int
    health_check: bool = True
    interval: int = 300
    drain: bool = True
    resume: bool = False
    max_drained_fraction: float = 0.1
    task_prolog: str = ""
    venv: str = "/opt/gaudi3_scale/venv"
    gres: str = ""
    configuration: str = ""
    programs: str = ""


def apply(options: Options, run: Run, check_mode: bool, etc: str = "/etc") -> dict[str, Any]:
    """What the module returns; raises GaudiError before anything is written."""
    _check(options)
    site = find_site(run, etc, options.configuration, options.programs)
    if not site.configuration and not options.node:
        raise GaudiError(
            f"There is no Slurm on this host: neither a slurmd, which makes a node of it, nor {etc}/slurm/slurm.conf, "
            f"nor one below {', '.join(f'/{prefix}/etc' for prefix in PREFIXES)}, and no unit names one; install it "
            f"first, name the file in {CONFIGURATION_OPTION}, or leave the host out of gaudi_slurm_hosts."
        )
    fragments = _fragments(options, site.directory, site.configuration, etc) if site.configuration else []
    health = _health_files(options, site, etc) if options.node and options.health_check else []
    changes = pending([*health, *fragments])
    if not check_mode:
        for change in changes:
            write(change)
    names = {file.path for file in fragments}
    return {
        "changed": bool(changes),
        "diff": differences(changes),
        "reconfigure": any(change.wanted.path in names for change in changes),
        # Its slurmd has the configuration of the controller, where the fragments belong.
        "configless": not site.configuration,
        # With these the site's own scontrol reads the site's own configuration.
        "environment": site.environment,
    }


def _check(options: Options) -> None:
    """Raises GaudiError for what Slurm, or the health check's own unit, would read otherwise than it is meant."""
    if options.node:
        check_name(options.node)
    check_version("release", options.release)
    check_range("interval", options.interval, 1, _LONGEST_INTERVAL)
    check_range("max_drained_fraction", options.max_drained_fraction, 0, 1)
    for name in ("task_prolog", "configuration", "programs", "venv"):
        if getattr(options, name):
            check_place(name, getattr(options, name))


def _fragments(options: Options, directory: str, configuration: str, etc: str) -> list[WantedFile]:
    slurm, gres = str(Path(directory, SLURM)), str(Path(directory, GRES_FILE))
    site, cards = read_configuration(configuration, slurm), read_configuration(str(Path(directory, "gres.conf")), gres)
    require_include(site, slurm)
    program = str(Path(etc, HEALTH_CHECK)) if options.health_check else ""
    named = Gres.parse(options.gres) if options.gres else site_gres(site, cards)
    wanted = Wanted(options.nodes, program, options.interval, options.task_prolog, named)
    files = [WantedFile(slurm, slurm_text(wanted, site))]
    if any(node.cards for node in options.nodes):
        require_include(cards, gres)
        files.append(WantedFile(gres, gres_text(wanted, cards)))
    return files


def _health_files(options: Options, site: SlurmSite, etc: str) -> list[WantedFile]:
    program = str(Path(etc, HEALTH_CHECK))
    # A unit has the search path of services, which has no Slurm below a directory of its own.
    path = ":".join([*site.directories, "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    around = {**({"PATH": path} if site.directories else {}), **({"SLURM_CONF": site.told} if site.told else {})}
    # slurmd gives its program no environment, not even a PATH; as a unit it has that of services.
    words = [
        *("systemd-run", "--quiet", "--wait", "--pipe", "--collect"),
        *(f"--property={line}" for line in CONFINED),
        *(f"--setenv={name}={value}" for name, value in around.items()),
        *("timeout", str(SECONDS), root_python(options.venv), "-I", "-m", "gaudi3_scale.verify"),
        *("--release", options.release, "--cards", str(options.cards), "--node", options.node),
        *("--share", str(options.max_drained_fraction)),
        *(["--drain"] if options.drain else []),
        *(["--resume"] if options.resume else []),
    ]
    script = (
        "#!/bin/sh\n# Written by gaudi3.scale, for HealthCheckProgram in slurm.conf.\n"
        f'PATH=/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\nexec {shlex.join(words)} "$@"\n'
    )
    # NHC drains by itself.
    nhc = (
        "# Written by gaudi3.scale, for NHC (nhc -c), which drains by itself.\n"
        f"* || check_cmd_status -t {SECONDS + 5} -r 0 {program} --no-drain --no-resume\n"
    )
    return [WantedFile(program, script, mode=0o755), WantedFile(str(Path(etc, NHC)), nhc)]
