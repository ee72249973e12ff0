# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node of the scenario is like, seen past SSH: an upgrade may have cut that."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sandbox import cluster
from sandbox.nodes import in_node
from tests.sandbox_nodes import SANDBOX, sandbox

KERNEL = "/var/lib/gaudi_simulator/kernel"
MARKER = "/var/lib/gaudi3_scale/driver.json"
# Services that come and go by themselves: sessions, timers, and what D-Bus starts for a moment.
PASSING = "^(user|apt-daily|dpkg-db-backup|man-db|systemd-(hostnamed|localed|timedated|tmpfiles-clean))"
# Contents of what is configured; names, sizes and times of what is installed; what systemd has; what runs.
EVERYTHING = f"""
find /etc -xdev -type f -exec sha256sum {{}} + | sort -k 2
find /opt /usr/src /lib/modules /var/lib/dkms /var/lib/gaudi3_scale -xdev ! -type d ! -name '*.lock' \
  -printf '%p %s %T@\\n' | sort
dpkg-query -W -f '${{Package}} ${{Version}} ${{Status}}\\n'
systemctl list-units --type=service --state=active --no-legend --plain | awk '{{print $1}}' \
  | sort | grep -Ev '{PASSING}'
cut -d ' ' -f 1 {KERNEL}/proc/modules; cat {KERNEL}/sys/module/habanalabs/version
"""
DRIVER = f"""
echo half $(dpkg-query -W -f '${{Package}}=${{db:Status-Status}}\\n' | grep -v '=installed$\\|=config-files$')
echo packages $(dpkg-query -W -f '${{Package}}=${{Version}} ' 'habanalabs*')
echo held $(apt-mark showhold)
echo modules $(cut -d ' ' -f 1 {KERNEL}/proc/modules)
echo driver $(cat {KERNEL}/sys/module/habanalabs/version 2>/dev/null)
echo cards $(ls {KERNEL}/dev/accel 2>/dev/null | grep -c '^accel[0-9]')
echo dkms $(dkms status 2>/dev/null | tr -d ' ' | tr '\\n' ' ')
"""


@dataclass(frozen=True)
class Driver:
    """A node's driver: ``version`` is what the loaded one calls itself, ``built`` (release, kernel) pairs."""

    packages: dict[str, str]
    half: list[str]
    held: set[str]
    modules: set[str]
    version: str
    cards: int
    built: set[tuple[str, str]]
    marker: dict[str, Any] | None

    def is_whole_at(self, package: str) -> bool:
        """Whether packages, DKMS, loaded modules and cards are those of this release (``1.24.1-482``)."""
        return (
            set(self.packages.values()) == {package}
            and not self.half
            and set(self.packages) <= self.held
            and len(self.modules) == 5
            and self.version.startswith(package.split("-")[0])
            and self.cards == 8
            and {release for release, _kernel in self.built} == {package}
        )


def run_in(node: str, script: str) -> str:
    """What a shell in the node prints; an exit code other than 0 is an error."""
    return in_node(cluster.find_node(cluster.load(SANDBOX), node), "sh", "-c", script)


def everything(node: str) -> list[str]:
    """All that an upgrade could touch; two lists that differ name what was touched."""
    return run_in(node, EVERYTHING + "true").splitlines()


def driver(node: str) -> Driver:
    """The node's driver as it is now."""
    reported = {}
    for line in run_in(node, DRIVER).splitlines():
        name, _, value = line.partition(" ")
        reported[name] = value.split()
    marker = run_in(node, f"cat {MARKER} 2>/dev/null || true")
    return Driver(
        packages=dict(item.split("=", 1) for item in reported["packages"] if not item.endswith("=")),
        half=reported["half"],
        held=set(reported["held"]),
        modules=set(reported["modules"]),
        version=" ".join(reported["driver"]),
        cards=int(reported["cards"][0]),
        built={_build(item) for item in reported["dkms"] if item.endswith(":installed")},
        marker=json.loads(marker) if marker else None,
    )


def _build(status: str) -> tuple[str, str]:
    """(release, kernel) of ``habanalabs/1.24.1-482,6.1.0-56-amd64,x86_64:installed``."""
    module, kernel, _rest = status.split(",", 2)
    return module.split("/")[1], kernel


def answers(node: str) -> bool:
    """Whether the node is up; a cut of its power takes it away for a moment."""
    command = ["podman", "exec", f"{SANDBOX}-{node}", "systemctl", "is-system-running"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return said in ("running", "degraded")


def wait_for(what: str, is_so: Any, seconds: float = 60.0) -> None:
    """Wait until ``is_so()``."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(0.5)


@contextmanager
def faults(**of_nodes: str) -> Iterator[None]:
    """These nodes with these faults, and without any afterwards: ``faults(node1="repository_loss")``."""
    for node, words in of_nodes.items():
        sandbox("fault", node, *words.split())
    try:
        yield
    finally:
        for node in of_nodes:
            wait_for(f"{node} is up", lambda node=node: answers(node))
            sandbox("fault", node, "clear")
