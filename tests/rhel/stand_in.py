# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for RHEL 9 as the tests use it: the core runs on it as a module's code does, against its dnf and rpm."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from sandbox import cluster
from sandbox.errors import SandboxError
from sandbox.nodes import in_node
from sandbox.plan import NodePlan
from sandbox.rhel import make_stand_in

CORE = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"
NAME = os.environ.get("GAUDI_RHEL_SANDBOX", "gaudi3-rhel")
REPOSITORY = "http://packages.sandbox.internal"
KERNEL_ROOT = "/var/lib/gaudi_simulator/kernel"

_PROGRAM = """\
import json, sys
sys.path.insert(0, "/opt/core_under_test")
from core._driver import state as driver_state
from core._packages import package_repository
from core._node.commands import run_process
from core._driver.plan import DriverOptions
from core._errors import GaudiError
from core._packages.rpm_packages import Dnf
call = json.load(sys.stdin)
try:
    if call["what"] == "repository":
        options = package_repository.RepositoryOptions(**call["options"])
        answer = package_repository.converge(options, run_process, call["check_mode"])
    elif call["what"] == "driver":
        answer = driver_state.converge(DriverOptions(**call["options"]), run_process, call["check_mode"])
    else:
        answer = getattr(Dnf(run_process), call["what"])(*call["arguments"])
        if call["what"] == "query":
            answer = {name: [one.version, one.held, one.status] for name, one in answer.items()}
    print(json.dumps({"answer": answer}))
except GaudiError as error:
    print(json.dumps({"error": str(error)}))
"""


class RefusedError(Exception):
    """The sentence of the core's error."""


class StandIn:
    """One node."""

    def __init__(self, node: NodePlan) -> None:
        self.node = node
        self.kernel = self.sh("cat /etc/gaudi_simulator_kernel").strip()
        self.sh("rm -rf /opt/core_under_test && mkdir -p /opt/core_under_test")
        subprocess.run(["podman", "cp", str(CORE), f"{node.container}:/opt/core_under_test/core"], check=True)

    def sh(self, script: str) -> str:
        """Run a shell script as root; raises SandboxError where it fails."""
        return in_node(self.node, "bash", "-euc", script)

    def _core(self, **call: Any) -> Any:
        said = json.loads(in_node(self.node, "python3", "-B", "-c", _PROGRAM, text_in=json.dumps(call)))
        if "error" in said:
            raise RefusedError(said["error"])
        return said["answer"]

    def dnf(self, method: str, *arguments: Any) -> Any:
        """A method of the core's ``Dnf``."""
        return self._core(what=method, arguments=arguments)

    def repository(self, url: str = f"{REPOSITORY}/artifactory", check_mode: bool = False, **options: Any) -> Any:
        """What the module ``package_repository`` does."""
        named = ["packages.sandbox.internal", "127.0.0.1"]
        given = {
            "packages_url": url,
            "release": "1.24.1",
            "kernel_root": KERNEL_ROOT,
            "plain_http_hosts": named,
            **options,
        }
        return self._core(what="repository", check_mode=check_mode, options=given)

    def driver(self, release: str, check_mode: bool = False, **options: Any) -> Any:
        """What the module ``hpu_driver`` does where another release may be loaded."""
        given = {"release": release, "reload": True, "kernel_root": KERNEL_ROOT, **options}
        return self._core(what="driver", check_mode=check_mode, options=given)

    def fault(self, *faults: str) -> None:
        """Inject faults into the node; none clears them."""
        self.sh(f"gaudi-simulator faults {' '.join(faults) or 'clear'}")

    @property
    def files(self) -> list[str]:
        """The repository's files on the node."""
        return self.sh("find /etc/yum.repos.d /etc/pki/rpm-gpg -name '*gaudi3_scale*' || true").split()

    @property
    def loaded(self) -> str:
        """The driver that runs."""
        return self.sh(f"cat {KERNEL_ROOT}/sys/module/habanalabs/version").strip()

    @property
    def module_version(self) -> str:
        """The driver that the kernel would load."""
        return self.sh(f"strings /lib/modules/{self.kernel}/extra/habanalabs.ko | sed -n 's/^version=//p'").strip()


def make() -> tuple[StandIn, bool]:
    """The stand-in, virgin, and whether its sandbox was made for it."""
    try:
        node, made = cluster.find_node(cluster.load(NAME), "node1"), False
        cluster.reset(NAME, ["node1"])
    except SandboxError:
        node, made = cluster.up(cluster.Wanted(NAME, nodes=1)).nodes[0], True
    make_stand_in(node)
    return StandIn(node), made
