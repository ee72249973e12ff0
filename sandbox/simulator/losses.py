# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is lost in the middle of something: the power, the operator's SSH sessions, the way to the package repository.

Each strikes once, at the start of the N-th call of a program, and is gone from the faults before it does. The simulated
programs tell of their calls themselves; a real one gets a wrapper in its place for as long as a fault waits for it.
A cut of the power loses no write that a program had made: what the disk had not got yet is not simulated.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from .node_state import ROOT, locked, read, replace, write

LOSSES = ("power_loss", "ssh_loss", "repository_loss")
REPOSITORY_HOST = "packages.sandbox.internal"
# Real programs, and the words of which a call has one when it changes the node; other calls are not counted.
REAL_PROGRAMS = {
    Path("/usr/bin/apt-get"): {"install"},
    Path("/usr/bin/dpkg"): {"-i", "--install", "--unpack", "--configure"},
    Path("/usr/sbin/dkms"): {"build", "install", "autoinstall"},
}
ONLY_LOOKING = {"-s", "--simulate", "-d", "--download-only", "--print-uris"}
WRAPPER = """\
#!/bin/sh
# Put here by a fault of the sandbox, and taken away when it struck.
/usr/local/sbin/gaudi-simulator loss {name} "$@"
if [ -x {real} ]; then exec {real} "$@"; fi
exec {path} "$@"
"""
# systemd(1), "Signals": reboot at once, stopping no unit.
REBOOT_NOW = 15


def main(arguments: list[str]) -> int:
    """``loss PROGRAM ARGUMENT...``: a wrapped program was called."""
    program, *words = arguments
    counting = {path.name: changing for path, changing in REAL_PROGRAMS.items()}[program]
    if counting.intersection(words) and not ONLY_LOOKING.intersection(words):
        called(program)
    return 0


def called(program: str, root: Path = ROOT) -> None:
    """Count a call of ``program``, and do what strikes with it."""
    if not _is_awaited(program, root):
        return  # the rule, and open to users who may only read
    with locked(root):
        node = read(root)
        struck, left = count_call(node.faults, program)
        if left != node.faults:
            write(replace(node, faults=left), root)
            prepare(left)
    if "ssh_loss" in struck:
        cut_sessions()
    if "power_loss" in struck:
        cut_power()


def _is_awaited(program: str, root: Path) -> bool:
    try:
        faults = read(root).faults
    except FileNotFoundError:
        return False  # called while the node's image is made, or before its first boot
    return count_call(faults, program) != ([], faults)


def count_call(faults: Mapping[str, object], program: str) -> tuple[list[str], dict[str, object]]:
    """(the losses that strike with this call of ``program``, the faults that are left)."""
    struck, left = [], dict(faults)
    for name in LOSSES:
        waits_for, _, number = str(faults.get(name, "")).partition(":")
        if waits_for != program:
            continue
        if int(number) > 1:
            left[name] = f"{program}:{int(number) - 1}"
            continue
        struck.append(name)
        del left[name]
        if name == "repository_loss":
            left[name] = True
    return struck, left


def prepare(faults: Mapping[str, object]) -> None:
    """Wrap the real programs that a fault waits for, unwrap the others; take the route to the packages away or back."""
    awaited = {str(faults.get(name, "")).partition(":")[0] for name in LOSSES}
    for path in REAL_PROGRAMS:
        real = path.with_name(f"{path.name}.real")
        if path.name in awaited and path.exists() and not real.exists():
            path.rename(real)
            path.write_text(WRAPPER.format(name=path.name, real=real, path=path), encoding="utf-8")
            path.chmod(0o755)
        elif path.name not in awaited and real.exists():
            real.replace(path)
    _route_to_repository("replace" if faults.get("repository_loss") is True else "delete")


def _route_to_repository(operation: str) -> None:
    """``replace`` puts an unreachable route in the repository's way, ``delete`` takes it out where there is one."""
    try:
        repository = socket.gethostbyname(REPOSITORY_HOST)
    except OSError:
        return  # a node of a sandbox without a package repository
    command = ["/usr/sbin/ip", "route", operation, "unreachable", repository]
    subprocess.run(command, check=operation == "replace", capture_output=True)


def sessions(processes: Mapping[int, bytes]) -> list[int]:
    """The process ids of SSH sessions, from process id -> command line; the daemon that listens is none."""
    return [pid for pid, line in processes.items() if line.startswith(b"sshd: ") and b"[listener]" not in line]


def cut_sessions() -> None:
    """End the operator's SSH sessions as a cut network does: without a word to what runs in them."""
    pids = [str(pid) for pid in sessions(_processes())]
    if pids:
        # By systemd: the tool's own unit may not end processes of another account, and a network asks nobody.
        subprocess.run(["systemd-run", "--quiet", "--wait", "--collect", "kill", "-KILL", *pids], check=False)


def _processes() -> dict[int, bytes]:
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            found[int(directory.name)] = (directory / "cmdline").read_bytes()
        except OSError:
            continue  # it ended while it was looked at
    return found


def cut_power() -> None:
    """End every process of the node at once and boot it; does not return."""
    os.kill(-1, signal.SIGKILL)  # all but the node's process 1 and this one
    os.kill(1, signal.SIGRTMIN + REBOOT_NOW)
    while True:
        time.sleep(1)
