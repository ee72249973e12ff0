# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What starts a job's container on a node: podman, or Apptainer where a cluster has that. Values only.

podman is rootless here: it is started by the job's account, inside the job's unit or Slurm's step, so root works in no
directory that the account may write and no daemon stands between systemd and the ranks. What follows from that, and
from how a unit is confined (podman 4.3 and newer, crun):

- One user id. newuidmap is set-user-ID root, and a unit gains no privileges; so root of the container is the job's
  account, and nobody else. podman's storage of images needs more than one for most images, so the image lies unpacked
  in a directory of the account's (``_containers.image_unpack``) and podman is given that (``--rootfs``), read-only.
- crun with ``--cgroup-manager disabled``: the container's processes stay in the unit's control group, so that systemd
  ends them with it and counts what they use. podman's own ``--cgroups=disabled`` says the same and insists on process
  numbers of the container's own; ``split`` wants a unit that is delegated, which ProtectControlGroups= forbids.
- The network, the processes, shared memory and the host name are the node's: HCCL and gloo find the interfaces by their
  names, ranks are seen by their numbers, and a new /proc may not be mounted where the unit hides parts of it.
- No capability, no new privileges. podman's own filter of system calls is off, since the unit's is in force.
- Cards are given as the nodes that our CDI specification has of them, one by one. ``--runtime habana`` does the same as
  root and writes into the container's /etc; what it adds, the addresses of the ports, is for containers that have a
  network of their own (netinfo.go of the vendor's runtime). ``--device habana.ai/gaudi=N`` names cards by an index that
  the driver gives at each boot; a job has modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .mounts import Mount, parse_mount

PODMAN, APPTAINER = "podman", "apptainer"
# In this order, since one that has podman need not have Apptainer set up for its accounts.
ENGINES = (PODMAN, APPTAINER)
RUNTIME = "crun"
# Neither a node's containers.conf nor the account's own is read beside it.
CONTAINERS_CONF = """# Written for one start of a job's container by gaudi3.scale.
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
"""


@dataclass(frozen=True)
class Container:
    """One start. ``root`` is the image's directory, ``state`` what the engine itself may write, empty at the start.

    ``path`` is where the image's programs are looked for. ``devices`` are HOST:CONTAINER.
    """

    name: str
    root: str
    state: str
    directory: str
    path: str
    command: tuple[str, ...]
    mounts: tuple[Mount, ...] = ()
    devices: tuple[str, ...] = ()
    library_path: str = ""

    @property
    def loader(self) -> dict[str, str]:
        """What the first program of the container needs to be found and started; the job's own come after it."""
        return {"PATH": self.path, **({"LD_LIBRARY_PATH": self.library_path} if self.library_path else {})}


def engine_argv(engine: str, container: Container) -> tuple[str, ...]:
    """The command of the engine."""
    return _podman_argv(container) if engine == PODMAN else _apptainer_argv(container)


def _podman_argv(container: Container) -> tuple[str, ...]:
    state = container.state
    return (
        PODMAN, "--log-level=fatal", f"--root={state}/root", f"--runroot={state}/run", f"--tmpdir={state}/tmp",
        # It holds nothing: the image is a directory.
        "--storage-driver=vfs", f"--runtime={RUNTIME}", "--runtime-flag=cgroup-manager=disabled",
        "run", "--rm", f"--name={container.name}", "--log-driver=none",
        "--network=host", "--pid=host", "--ipc=host", "--uts=host", "--cgroupns=host",
        "--cap-drop=all", "--security-opt=no-new-privileges", "--security-opt=seccomp=unconfined",
        # A directory of the node may not be labeled anew for a container.
        "--security-opt=label=disable",
        # Of the card's devices, which belong to one.
        "--group-add=keep-groups",
        # Locked memory, open files and processes: as the unit has them.
        "--ulimit=host",
        "--read-only", f"--workdir={container.directory}",
        *(f"--env={name}={value}" for name, value in container.loader.items()),
        *(f"--volume={mount.word}" for mount in container.mounts),
        *(f"--device={device}" for device in container.devices),
        "--rootfs", container.root, *container.command,
    )  # fmt: skip


def _apptainer_argv(container: Container) -> tuple[str, ...]:
    """apptainer(1), 1.2 and newer; written after its manual."""
    devices = tuple(map(parse_mount, container.devices))
    return (
        APPTAINER, "exec",
        # Nothing of the node but what is named here; /dev is a small one.
        "--contain", "--cleanenv", "--no-home", "--no-privs", "--no-umask", f"--pwd={container.directory}",
        *(f"--env={name}={value}" for name, value in container.loader.items()),
        *(f"--bind={mount.word}" for mount in (*container.mounts, *devices)),
        "--bind=/dev/shm:/dev/shm:rw", "--bind=/sys:/sys:ro",
        container.root, *container.command,
    )  # fmt: skip


def missing_program(engines: Sequence[str], programs: Sequence[str]) -> str:
    """What a node lacks that has ``programs`` of those that are needed; "" for nothing."""
    found = [engine for engine in engines if engine in programs]
    if not found:
        return " or ".join(engines)
    return RUNTIME if found[0] == PODMAN and RUNTIME not in programs else ""
