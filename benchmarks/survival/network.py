# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as network namespaces of one machine: each has a link of its own to a bridge, in one more namespace.

What runs in a node is what runs in its namespace. Files, names and process numbers are the machine's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from plugins.module_utils._errors import GaudiError

# Of the bridge's own namespace: nothing outside sees them.
SUBNET = "10.77.0"
HUB_ADDRESS = f"{SUBNET}.254"
DEVICE = "eth0"
# Processes that are still there so long after SIGKILL hang in the kernel.
STUCK_S = 30.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Namespace:
    """One of ``ip netns``; ``port`` is the bridge's end of its link."""

    name: str
    address: str
    hub: str
    port: str

    def start(self, argv: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """A process in here; its number is that of the program itself. Ctrl-C does not reach it."""
        return subprocess.Popen(
            # Not `ip netns exec`: that mounts another /sys.
            ["nsenter", f"--net=/run/netns/{self.name}", *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environment),
            start_new_session=True,
        )

    def pids(self) -> set[int]:
        """All processes in here."""
        return set(map(int, _ip("netns", "pids", self.name).split()))

    def signal_all(self, number: int, spared: int | None = None) -> None:
        """To all that is in here at this moment, but to ``spared``."""
        for pid in self.pids() - {spared}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def cut(self) -> None:
        """Nothing comes in or goes out any more."""
        _ip("-n", self.hub, "link", "set", self.port, "down")

    def mend(self) -> None:
        _ip("-n", self.hub, "link", "set", self.port, "up")

    def empty(self) -> None:
        """Kill what is in here, and wait until it is gone."""
        end = time.monotonic() + STUCK_S
        while self.pids() and time.monotonic() < end:
            self.signal_all(signal.SIGKILL)
            time.sleep(0.05)


@contextlib.contextmanager
def namespaces(nodes: int) -> Iterator[tuple[Namespace, list[Namespace]]]:
    """The bridge's namespace, where a store may run, and so many nodes. Nothing of them is left at the end.

    Raises GaudiError where this machine or account cannot have them.
    """
    check_possible()
    prefix = f"gs-survival-{os.getpid()}"
    hub = Namespace(f"{prefix}-hub", HUB_ADDRESS, "", "")
    found = [
        Namespace(f"{prefix}-{number}", f"{SUBNET}.{number}", hub.name, f"port{number}")
        for number in range(1, nodes + 1)
    ]
    try:
        _make_hub(hub)
        for node in found:
            _make_node(node)
        yield hub, found
    finally:
        # One more Ctrl-C has to wait until nothing is left.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        there = {line.split()[0] for line in _ip("netns", "list").splitlines() if line.strip()}
        for one in (*found, hub):
            if one.name in there:
                one.empty()
                _ip("netns", "del", one.name)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def check_possible() -> None:
    """Raises GaudiError with what is missing."""
    if os.geteuid():
        raise GaudiError("Nodes are network namespaces here, which only root can make; run it as root.")
    for tool, package in (("ip", "iproute2"), ("nsenter", "util-linux")):
        if shutil.which(tool) is None:
            raise GaudiError(f"Nodes are network namespaces here, and {tool} is missing; install {package}.")


def _make_hub(hub: Namespace) -> None:
    try:
        _ip("netns", "add", hub.name)
        _ip("-n", hub.name, "link", "add", "bridge0", "type", "bridge")
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise GaudiError(
            f"Nodes are network namespaces here, and this machine allows none ({said[0]}); run it on one that does."
        ) from error
    _ip("-n", hub.name, "address", "add", f"{hub.address}/24", "dev", "bridge0")
    for device in ("lo", "bridge0"):
        _ip("-n", hub.name, "link", "set", device, "up")


def _make_node(node: Namespace) -> None:
    _ip("netns", "add", node.name)
    _ip("-n", node.hub, "link", "add", node.port, "type", "veth", "peer", "name", DEVICE, "netns", node.name)
    _ip("-n", node.hub, "link", "set", node.port, "master", "bridge0", "up")
    _ip("-n", node.name, "address", "add", f"{node.address}/24", "dev", DEVICE)
    for device in ("lo", DEVICE):
        _ip("-n", node.name, "link", "set", device, "up")


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def runs(pid: int) -> bool:
    """Whether this process is there and could do something: it has not ended, and is not stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X", b"T")
    except OSError:
        return False
