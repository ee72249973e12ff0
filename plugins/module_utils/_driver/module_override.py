# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""DKMS's modules before an in-tree ``habanalabs``: depmod's search order, set right only where it is wrong.

depmod(8) takes the first of the same name by the order of ``search`` in depmod.d: kmod's default and Ubuntu's file have
``updates`` first, RHEL's has ``updates extra`` before ``built-in``, so DKMS's module wins without doing anything. It
loses where somebody's depmod.d names another order, and only there an ``override`` line is written, which beats every
search order. A module that DKMS never put in place is another matter: ``dkms install --force`` puts it there.

An initramfs may hold the in-tree module and load it before the root file system is there: after a change it has to be
made again (``update-initramfs -u -k KERNEL``, ``dracut --force --kver KERNEL``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.kernel_modules import foreign_files
from .._node.rendered_files import WantedFile, read_text
from .dkms_tree import module_files

OVERRIDES = "etc/depmod.d/gaudi3_scale.conf"
_HEAD = "# Written by gaudi3.scale: the modules that DKMS built, before those of the kernel's own tree.\n"


def module_override(files: Mapping[str, str], kernel: str, root: str = "/") -> WantedFile | None:
    """The depmod.d file that puts DKMS's modules first, or None where they are first or not there at all.

    ``files`` maps each module to the file that modprobe would load for ``kernel``. After writing it,
    :func:`run_depmod` brings it into force. Lines that the file has for other kernels' sake are kept.
    """
    foreign = {name for name, path in files.items() if path in foreign_files(files)}
    built = {_name(path): path for path in module_files(kernel, root)}
    lines = {f"override {name} * {_place(built[name], kernel, root)}" for name in foreign if name in built}
    if not lines:
        return None
    path = str(Path(root, OVERRIDES))
    kept = {line for line in (read_text(path) or "").splitlines() if line.startswith("override ")}
    return WantedFile(path, _HEAD + "".join(f"{line}\n" for line in sorted(lines | kept)))


def run_depmod(kernel: str, run: Run) -> None:
    """Read the module files of ``kernel`` anew."""
    done = run(["depmod", kernel])
    if done.rc != 0:
        said = last_line(done.stderr)
        raise GaudiError(f"depmod {kernel} failed ({said}); repair what it reports and run again.", kernel=kernel)


def _name(path: Path) -> str:
    return path.name.partition(".ko")[0]


def _place(path: Path, kernel: str, root: str) -> str:
    """``updates/dkms``: the directory below the kernel's own."""
    return str(path.parent.relative_to(Path(root, "lib/modules", kernel)))
