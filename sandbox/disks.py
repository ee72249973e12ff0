# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A disk for a node: a loop device over a sparse file, with an ext4 and, by the kernel's cgroups, a rate that it keeps.

Nothing of it is simulated, so what is measured on it is what fio measures; only root can make one.
"""

from __future__ import annotations

import os
from pathlib import Path

from .commands import run
from .errors import SandboxError
from .nodes import in_node
from .plan import NodePlan
from .podman import podman

CGROUPS = Path("/sys/fs/cgroup")
FOLDER = "disks"


def attach(node: NodePlan, state: Path, size: str) -> str:
    """The device's path in the node; does nothing where it is."""
    image = _image(node, state)
    found = _device(image)
    if not found:
        image.parent.mkdir(exist_ok=True)
        run(["truncate", "--size", size, image])
        run(["mkfs.ext4", "-q", "-F", image])
        found = run(["losetup", "--find", "--show", image], remedy="A loop device needs root.").strip()
    number = Path(found).stat().st_rdev
    words = ("b", str(os.major(number)), str(os.minor(number)))
    in_node(node, "sh", "-c", 'test -b "$0" || mknod "$0" "$@"', found, *words)
    return found


def limit(node: NodePlan, state: Path, read: int, write: int) -> None:
    """What all processes of the node together read and write of its disk, bytes a second; 0 is no limit."""
    device = _device(_image(node, state))
    if not device:
        raise SandboxError(f"{node.name} has no disk; make one with `python3 -m sandbox disk {node.name}`.")
    number = Path(device).stat().st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    lines = Path(f"/proc/{_process(node)}/cgroup").read_text(encoding="ascii").splitlines()
    groups = {line.split(":", 2)[1]: line.split(":", 2)[2].lstrip("/") for line in lines}
    blkio = next((CGROUPS / "blkio" / path for names, path in groups.items() if "blkio" in names.split(",")), None)
    if blkio:
        for kind, rate in (("read", read), ("write", write)):
            (blkio / f"blkio.throttle.{kind}_bps_device").write_text(f"{name} {rate}\n", encoding="ascii")
        return
    # Of the container's own group, whose parts the node's systemd makes.
    container = CGROUPS / groups[""].removesuffix("/init.scope")
    rates = f"rbps={read or 'max'} wbps={write or 'max'}"
    (container / "io.max").write_text(f"{name} {rates}\n", encoding="ascii")


def detach(node: NodePlan, state: Path) -> None:
    """Take the disk away; what mounts it keeps it until it is unmounted."""
    image = _image(node, state)
    device = _device(image)
    if device:
        limit(node, state, 0, 0)
        run(["losetup", "--detach", device])
    image.unlink(missing_ok=True)


def detach_all(state: Path) -> None:
    """Of a sandbox whose containers are gone."""
    for image in (state / FOLDER).glob("*"):
        device = _device(image)
        if device:
            run(["losetup", "--detach", device])


def _image(node: NodePlan, state: Path) -> Path:
    return state / FOLDER / node.name


def _device(image: Path) -> str:
    lines = run(["losetup", "--noheadings", "--output", "NAME", "--associated", image]).split()
    return lines[0] if lines else ""


def _process(node: NodePlan) -> str:
    return podman("inspect", "--format", "{{.State.Pid}}", node.container).strip()
