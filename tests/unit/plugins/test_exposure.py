# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What systemd itself says of the units that we write: ``systemd-analyze security``, from 0 (safe) to 10 (unsafe)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.files import service_text
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import Target
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric import ports
from ansible_collections.gaudi3.scale.plugins.module_utils._host import (
    cpu_governor,
    firewall,
    idle_states,
    latency_msrs,
)
from jinja2 import Environment

ROOT = Path(__file__).parents[3]

needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")


def bundle_server() -> str:
    unit = ROOT / "roles/gaudi_bundle/templates/etc/systemd/system/gaudi3-scale-bundle.service.j2"
    return (
        Environment(autoescape=False)
        .from_string(unit.read_text(encoding="utf-8"))
        .render(gaudi_bundle_path="/srv/bundle", gaudi_bundle_port=8090, gaudi_bundle_address="")
    )


# The largest exposure of each, and what it was without its hardening.
UNITS: dict[str, tuple[Callable[[], str], float, float]] = {
    "governor": (lambda: cpu_governor.unit_text("performance", "/"), 1.7, 9.6),
    "idle states": (lambda: idle_states.unit_text("/"), 1.7, 9.6),
    "registers": (latency_msrs.unit_text, 1.7, 9.6),
    "ports": (lambda: ports.unit_text("/usr/bin/true"), 6.6, 9.6),
    "firewall": (lambda: firewall.unit_text("/etc/gaudi3_scale/firewall.nft"), 1.7, 9.5),
    "bundle": (bundle_server, 1.8, 9.3),
    "cloudwatch": (lambda: service_text(Target("eu-central-1")), 1.8, 9.5),
}
_HARDENING = re.compile(
    r"(NoNew|Protect|Private|Restrict|Capability|SystemCall|IPAddress|Device|Memory|Lock|UMask|KeyringMode|RemoveIPC"
    r"|DynamicUser|ProcSubset|BindReadOnly|ReadWrite)[A-Za-z]*="
)


def exposure(text: str, directory: Path) -> float:
    path = directory / "unit.service"
    path.write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert found, said
    return float(found[1])


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_a_unit_keeps_within_its_bound(name: str, tmp_path: Path) -> None:
    text, most, _bare = UNITS[name]
    assert exposure(text(), tmp_path) <= most


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_it_is_the_hardening_that_keeps_it_there(name: str, tmp_path: Path) -> None:
    text, _most, bare = UNITS[name]
    rest = [line for line in text().splitlines() if not _HARDENING.match(line)]
    assert exposure("\n".join(rest), tmp_path) >= bare


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_knows_every_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"gaudi3-scale-{name.replace(' ', '-')}.service"
    path.write_text(UNITS[name][0](), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert not [line for line in done.stderr.splitlines() if f"{path}:" in line]
