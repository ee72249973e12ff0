# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The driver's kernel modules: what is loaded, which file would be, loading and unloading, and who holds the cards."""

from __future__ import annotations

import re
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from .._errors import GaudiError
from .commands import Run, last_line
from .rendered_files import read_text

# Every release since 1.0 has the module of this name, with the release in its MODULE_VERSION (habanalabs_drv.c).
DRIVER_MODULE = "habanalabs"
# A path of a card's device, wherever a container has it.
_CARD = re.compile(r"/(?:accel|hl)(?:_controlD)?\d+$")


def running_kernel(kernel_root: str = "/") -> str:
    """The release of the running kernel, for example ``6.8.0-45-generic``."""
    path = f"{Path(kernel_root, 'proc/sys/kernel/osrelease')}"
    text = read_text(path)
    if not text:
        raise GaudiError(f"{path} does not show the running kernel; mount /proc, and try again.")
    return text.strip()


def loaded_modules(names: Sequence[str], kernel_root: str = "/") -> tuple[str, ...]:
    """Those of ``names`` that are loaded, in the order of ``names``."""
    text = read_text(str(Path(kernel_root, "proc/modules"))) or ""
    present = {line.split(" ", 1)[0] for line in text.splitlines()}
    return tuple(name for name in names if name in present)


def loaded_version(kernel_root: str = "/") -> str | None:
    """What the loaded driver calls itself, for example ``1.24.1-b336d5e``; None when not loaded or not told."""
    sys = Path(kernel_root, "sys")
    for path in [sys / "module" / DRIVER_MODULE / "version", *sorted(sys.glob("class/accel/accel*/device/driver_ver"))]:
        text = (read_text(str(path)) or "").strip()
        if text:
            return text
    return None


def module_files(names: Sequence[str], kernel: str, run: Run) -> dict[str, str]:
    """Module name to the file that ``modprobe`` would load for ``kernel``; a name that has none is left out."""
    # modinfo goes on after a name it does not find, so one call serves for all.
    output = run(["modinfo", "-k", kernel, "-F", "filename", *names]).stdout
    paths = [line.strip() for line in output.splitlines() if line.strip()]
    return {re.sub(r"\.ko(\.\w+)?$", "", Path(path).name): path for path in paths}


def foreign_files(files: Mapping[str, str]) -> list[str]:
    """Files that dkms did not put there: an in-tree ``habanalabs`` that would be loaded in place of the release's."""
    return sorted(path for path in files.values() if not re.search(r"/(updates|extra|weak-updates)/", path))


def render_modules_load(modules: Sequence[str], release: str) -> str:
    """modules-load.d(5): the modules that every boot loads, in the release's order."""
    head = f"# Written by gaudi3.scale: the load order of release {release}.\n"
    return head + "".join(f"{name}\n" for name in modules)


def load(name: str, run: Run) -> None:
    """``modprobe`` one module."""
    done = run(["modprobe", name])
    if done.rc != 0:
        said = last_line(done.stderr or done.stdout)
        raise GaudiError(f"The module {name} cannot be loaded ({said}); {_remedy(said)}.", module=name)


def unload(name: str, run: Run) -> None:
    """``rmmod`` one module, and not what depends on it: the release's order is the caller's."""
    done = run(["rmmod", name])
    if done.rc != 0:
        said = last_line(done.stderr or done.stdout)
        message = f"The module {name} cannot be unloaded ({said}); stop what uses the cards, then run again."
        raise GaudiError(message, module=name)


def _remedy(said: str) -> str:
    if "Key was rejected" in said or "Required key not available" in said:
        return "Secure Boot accepts only signed modules: enroll DKMS's key with mokutil, or switch Secure Boot off"
    if "not found" in said:
        return "build it for the running kernel: see `dkms status`"
    return "the kernel's own reason is in `dmesg`"


@dataclass(frozen=True)
class Holder:
    """A process that has a card open. ``unit`` is its systemd unit or container scope."""

    pid: int
    command: str
    unit: str
    devices: tuple[str, ...]

    @property
    def computes(self) -> bool:
        """Whether it has a card itself, and not only the device through which one is managed, as many may."""
        return any("control" not in name for name in self.devices)

    def __str__(self) -> str:
        where = f" in {self.unit}" if self.unit else ""
        return f"process {self.pid} ({self.command}){where}"


def find_holders(kernel_root: str = "/", proc: str = "/proc") -> list[Holder]:
    """The processes with an open file under ``<kernel_root>/dev/accel``, by whatever name they have opened it.

    Processes are always those of the node's own ``proc``: ``kernel_root`` moves the devices, not who opens them.
    """
    place = Path(kernel_root).resolve() / "dev/accel"
    devices = _devices(place)
    found = []
    for directory in sorted(Path(proc).glob("[0-9]*"), key=lambda path: int(path.name)):
        held = sorted(set(_open_files(directory / "fd", f"{place}/", devices)))
        if held:
            found.append(_holder(directory, held))
    return found


def _devices(place: Path) -> dict[tuple[int, ...], str]:
    """The name of each device by its identity, but for one that several share, which tells none of them."""
    try:
        paths = list(place.iterdir())
    except OSError:
        return {}
    identities = [(identity, path.name) for path in paths if (identity := _identity(path))]
    shared = Counter(identity for identity, _name in identities)
    return {identity: name for identity, name in identities if shared[identity] == 1}


def _identity(path: Path) -> tuple[int, ...]:
    """What a device is whatever it is called, as in a container; empty where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_rdev,) if stat.S_ISCHR(found.st_mode) else (found.st_dev, found.st_ino)


def _open_files(directory: Path, prefix: str, devices: Mapping[tuple[int, ...], str]) -> Iterable[str]:
    try:
        links = list(directory.iterdir())
    except OSError:
        return  # the process ended while it was looked at, or is not ours to see
    for link in links:
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith(prefix):
            yield target[len(prefix) :]
        elif target.startswith("/dev/") or _CARD.search(target):
            # Nothing else is looked at: the server of a network's file may be gone.
            name = devices.get(_identity(link))
            if name is not None:
                yield name


def _holder(directory: Path, devices: list[str]) -> Holder:
    command = _process_text(directory / "comm").strip()
    units = re.findall(r"[^/\s]+\.(?:service|scope)", _process_text(directory / "cgroup"))
    # A person's own services are named by their manager (user@1000.service), which the system's systemctl knows.
    unit = next((unit for unit in units if unit.startswith("user@")), units[-1] if units else "")
    return Holder(int(directory.name), command or "unknown", unit, tuple(devices))


def _process_text(path: Path) -> str:
    try:
        return read_text(str(path)) or ""
    except GaudiError:
        return ""
