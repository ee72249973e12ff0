# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.unit_exposure``: writes the table of our units into docs/security.md, as systemd judges them.

``systemd-analyze security`` reads the texts that the collection itself makes; figures are those of systemd 252.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.files import service_text
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import Target
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.plan import hardening as metrics_hardening
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric import ports
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.flash import flash_command
from ansible_collections.gaudi3.scale.plugins.module_utils._host import (
    cpu_governor,
    firewall,
    idle_states,
    latency_msrs,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.confinement import confined
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.files import hardening as servers_hardening
from ansible_collections.gaudi3.scale.plugins.module_utils._node.account_unit import DEFAULT_LIMITS
from ansible_collections.gaudi3.scale.plugins.module_utils._node.unit_hardening import DISTRIBUTIONS_SERVICE
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify import unit as qualification
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.unit import confined as serving_confined
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.state import CONFINED as SLURM_HEALTH
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.measure import limits_of
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.measurement import torch_limits
from jinja2 import Environment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/security.md"
BEGIN, END = "<!-- `make readmes` writes this table. -->", "<!-- The end of the table. -->"
_BUNDLE = "roles/gaudi_bundle/templates/etc/systemd/system/gaudi3-scale-bundle.service.j2"
_PROPERTY = "--property="


@dataclass(frozen=True)
class Unit:
    """A unit of ours, or one of the distribution's with our drop-in: its text, and what is left to it and why.

    ``before`` is what systemd said of it before it was confined.
    """

    name: str
    text: Callable[[], str]
    before: float
    left: str


def _service(*lines: str, user: str = "") -> str:
    return "\n".join(["[Service]", "ExecStart=/usr/bin/true", *([f"User={user}"] if user else []), *lines, ""])


def _bundle() -> str:
    template = Environment(autoescape=False).from_string((ROOT / _BUNDLE).read_text(encoding="utf-8"))
    return template.render(gaudi_bundle_path="/srv/bundle", gaudi_bundle_port=8090, gaudi_bundle_address="")


def _job(image: str = "") -> list[str]:
    job = Job("llama", ("n1",), "n1", 8, "192.0.2.1", 29500, ("train.py",), "/opt/gaudi3_scale/venv", image=image)
    return confined(job, JobPaths("llama"))


def _of_properties(argv: Sequence[str]) -> list[str]:
    return [word[len(_PROPERTY) :] for word in argv if word.startswith(_PROPERTY)]


UNITS = (
    Unit(
        "`gaudi3-scale-cpu-governor`",
        lambda: cpu_governor.unit_text("performance", "/"),
        9.6,
        "root, without capabilities, network or devices: a governor's file is root's",
    ),
    Unit(
        "`gaudi3-scale-idle-states`",
        lambda: idle_states.unit_text("/"),
        9.6,
        "as the governor's: a switch of an idle state is root's",
    ),
    Unit(
        "`gaudi3-scale-latency-msrs`",
        latency_msrs.unit_text,
        9.6,
        "root with `CAP_SYS_RAWIO` and the CPUs' registers as its only devices",
    ),
    Unit(
        "`gaudi3-scale-firewall`",
        lambda: firewall.unit_text("/etc/gaudi3_scale/firewall.nft"),
        9.6,
        "root with `CAP_NET_ADMIN`, on the node's own network",
    ),
    Unit("`gaudi3-scale-bundle`", _bundle, 9.3, "an account that exists while it runs; IP of any address"),
    Unit(
        "`gaudi3-scale-cloudwatch`",
        lambda: service_text(Target("eu-central-1")),
        9.6,
        "an account that exists while it runs; IP of any address",
    ),
    Unit(
        "`gaudi3-scale-job-NAME`",
        lambda: _service(*_job(), user="gaudi"),
        9.2,
        "the account of jobs: a program writes, and speaks with, what its own arguments say; the cards' devices",
    ),
    Unit(
        "the same with an image",
        lambda: _service(*_job(f"registry.example.org/train@sha256:{'0' * 64}"), user="gaudi"),
        9.2,
        "as a job; podman makes one user namespace, with one user ID, and mounts in it",
    ),
    Unit(
        "`gaudi3-scale-serving-NAME`",
        lambda: _service(*serving_confined(is_container=False), user="gaudi-serving"),
        9.2,
        "an account of its own: reads models, writes its own directory; IP of any address; the cards' devices",
    ),
    Unit(
        "programs of that account before a launch, and while its requirements are installed",
        lambda: _service(*DEFAULT_LIMITS, user="gaudi"),
        9.2,
        "as a job, without devices; each has an end, and what it forks ends with it",
    ),
    Unit(
        "torch of an environment that is not root's, in `verify`",
        lambda: _service(*torch_limits("hpu"), user="gaudi"),
        9.6,
        "the account that the environment is of, and the cards' devices",
    ),
    Unit(
        "`gaudi3-scale-storage-rates`",
        lambda: _service(*limits_of("/mnt/data"), user="gaudi"),
        9.0,
        "the account of jobs; the directory that is measured",
    ),
    Unit(
        "`gaudi3-scale-metrics@`",
        lambda: _service(*metrics_hardening()),
        6.5,
        "root: it reads with each account's rights what is that account's (`CAP_SETUID`, `CAP_SETGID`), who holds a "
        "card (`CAP_SYS_PTRACE`), and asks `hl-smi` and HLML, which open the cards' devices",
    ),
    Unit(
        "Slurm's health check",
        lambda: _service(*SLURM_HEALTH),
        9.6,
        "root, as Slurm wants it for a drain; `hl-smi` with the cards' devices, and Slurm's own programs over the "
        "network",
    ),
    Unit(
        "`gaudi3-scale-ports`",
        lambda: ports.unit_text("/usr/bin/true"),
        9.6,
        "the vendor's script: it brings links up (`CAP_NET_ADMIN`), writes below `/sys`, and opens the cards' devices",
    ),
    Unit(
        "`gaudi3-scale-qualification`, and `-scheduled`",
        lambda: _service(*qualification.LIMITS, *qualification.CONFINED),
        9.6,
        "`hl_qual`: all devices, the cards' registers over PCI (`CAP_SYS_RAWIO`, `CAP_SYS_ADMIN`), pinned and huge "
        "pages, files below `/sys`, and the kernel's modules, since tests may want the driver loaded anew "
        "(`reload_driver`)",
    ),
    Unit(
        "`gaudi3-scale-firmware`",
        lambda: _service(*_of_properties(flash_command("0000:33:00.0", "/image", "/log"))),
        9.6,
        "`hl-fw-loader` while it writes firmware, where what it misses costs a card: as `hl_qual`, with raw I/O, the "
        "kernel's log and all temporary files, and without any address of the network",
    ),
    Unit(
        "node exporter of the distribution, with our drop-in",
        lambda: _service(*DISTRIBUTIONS_SERVICE, user="prometheus"),
        9.2,
        "an account of its own; it reads most of `/proc` and `/sys`, all file systems' sizes and the kernel's clock",
    ),
    Unit(
        "Prometheus and Alertmanager of the distribution, with our drop-in",
        lambda: _service(*servers_hardening(), user="prometheus"),
        9.2,
        "an account of its own; IP of any address",
    ),
)


def exposure(text: str) -> float:
    """What systemd says of a unit's text, from 0 (safe) to 10 (unsafe)."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "unit.service")
        path.write_text(text, encoding="utf-8")
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    if found is None:
        raise ValueError(said)
    return float(found[1])


def table() -> str:
    """The table as it stands on the page."""
    rows = [f"| {unit.name} | {unit.before} | {exposure(unit.text())} | {unit.left} |" for unit in UNITS]
    return "\n".join([BEGIN, "| Unit | Before | Now | What is left, and why |", "|---|---|---|---|", *rows, END])


def render(page: str) -> str:
    """The page with the table of today."""
    before, _begin, rest = page.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    text = render(page)
    if text != page:
        PAGE.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{PAGE.relative_to(ROOT)} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
