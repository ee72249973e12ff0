# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One kernel chosen for every boot from the next one on, and the way back to what the node booted before.

On the Debian family a drop-in of ours sets GRUB_DEFAULT: no file of the site is edited, and without the drop-in its own
default is in force again. On RHEL grubby changes the default, and the earlier one is in a record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ..._errors import GaudiError
from ..._node.commands import Run, last_line
from ..._node.json_file import read_json
from ..._node.rendered_files import FileChange, WantedFile, pending, read_text, write
from . import grub_menu
from .boot_kernels import next_kernel

DROP_IN = "etc/default/grub.d/99-gaudi3-scale-kernel.cfg"
# Read where needrestart is installed, which otherwise asks for a restart into the newest kernel of /boot.
NEEDRESTART = "etc/needrestart"
NEEDRESTART_DROP_IN = f"{NEEDRESTART}/conf.d/gaudi3_scale-kernel.conf"
MENU = "boot/grub/grub.cfg"
RECORD = "var/lib/gaudi3_scale/chosen_kernel.json"


@dataclass(frozen=True)
class Record:
    """The ``kernel`` chosen, the one that booted ``before``, and the packages that were ``held`` for it."""

    kernel: str
    before: str = ""
    held: Sequence[str] = ()


def read_record(root: str = "/") -> Record | None:
    """What an earlier run chose; None where none did."""
    found = read_json(str(Path(root, RECORD))) or {}
    kernel, before, held = found.get("kernel"), found.get("before"), found.get("held")
    if not isinstance(kernel, str) or not kernel:
        return None
    names = [name for name in held if isinstance(name, str)] if isinstance(held, list) else []
    return Record(kernel, before if isinstance(before, str) else "", tuple(names))


def keep_record(record: Record | None, root: str = "/") -> None:
    """Write the record, or take it away."""
    text = json.dumps({**asdict(record), "held": sorted(record.held)}, indent=2) + "\n" if record else None
    _write(pending([WantedFile(str(Path(root, RECORD)), text)]))


def has_menu(root: str = "/") -> bool:
    """Whether GRUB's menu is one file, as on the Debian family."""
    return Path(root, MENU).exists()


def can_choose(run: Run, root: str = "/") -> bool:
    """Whether there is a boot loader here whose default can be set."""
    entries = any(Path(root, "boot/loader/entries").glob("*.conf"))
    return has_menu(root) or (entries and run(["grubby", "--version"]).rc == 0)


def undone(kernel: str, run: Run, root: str = "/") -> list[str]:
    """What is still to do until ``kernel`` is chosen, a word or a path each."""
    record = read_record(root)
    words = [change.wanted.path for change in pending(_files(kernel, root))]
    words += ["record"] if record is None or record.kernel != kernel else []
    return words + (["default"] if next_kernel(run, root) != kernel else [])


def choose(kernel: str, run: Run, root: str = "/") -> None:
    """Have every boot start ``kernel``; where that does not come about all is as it was before."""
    if _entry(kernel, root) is None:
        _update_menu(run)
    earlier = read_record(root)
    before = next_kernel(run, root) or ""
    changes = pending(_files(kernel, root))
    # The record comes first: a run that is cut short must not leave a choice that nobody takes back.
    keep_record(Record(kernel, earlier.before if earlier else before, earlier.held if earlier else ()), root)
    _write(changes)
    try:
        _set_default(kernel, run, root)
        found = next_kernel(run, root)
        if found != kernel:
            raise GaudiError(
                f"Kernel {kernel} was chosen and {found or 'an unknown one'} would boot next; take back a one-time "
                "choice (grub-reboot), or what is read after our drop-in in /etc/default/grub.d, and run again."
            )
    except GaudiError:
        _put_back(changes)
        keep_record(earlier, root)
        run(["update-grub"] if has_menu(root) else ["grubby", "--set-default", f"/boot/vmlinuz-{before}"])
        raise


def give_back(kernels: Sequence[str], run: Run, root: str = "/") -> None:
    """Take the choice back, unless a kernel outside ``kernels``, for which nothing is built, would boot then.

    The record stays for the caller, who has packages to release.
    """
    record = read_record(root)
    if record is None:
        return
    paths = (DROP_IN, NEEDRESTART_DROP_IN)
    changes = pending([WantedFile(str(Path(root, path)), None, only_ours=True) for path in paths])
    _write(changes)
    if has_menu(root):
        _update_menu(run)
    elif record.before:
        _grubby(record.before, run)
    found = next_kernel(run, root)
    if found not in kernels:
        _put_back(changes)
        _set_default(record.kernel, run, root)
        raise GaudiError(
            f"Without the choice of kernel {record.kernel} this node would boot {found or 'an unknown kernel'}, for "
            f"which no driver is built; {record.kernel} stays chosen. Build for that one first (option kernels)."
        )


@contextmanager
def default_kept(run: Run, root: str = "/") -> Iterator[None]:
    """On RHEL a kernel that is installed becomes the default; in here it does not stay that."""
    before = None if has_menu(root) else next_kernel(run, root)
    try:
        yield
    finally:
        if before and next_kernel(run, root) != before:
            _grubby(before, run)


def grub_drop_in(entry: str) -> str:
    """Text that has GRUB start the entry with this name."""
    return f'# Written by gaudi3.scale: the kernel that the driver is built for.\nGRUB_DEFAULT="{entry}"\n'


def needrestart_drop_in(kernel: str) -> str:
    """Text with which needrestart expects this kernel, whatever newer ones are in /boot."""
    pattern = re.sub(r"([^A-Za-z0-9_-])", r"\\\1", kernel)
    return (
        "# Written by gaudi3.scale: the kernel that the driver is built for.\n"
        f"$nrconf{{kernelfilter}} = qr(/vmlinuz-{pattern}$);\n"
    )


def _entry(kernel: str, root: str) -> str | None:
    """The name of the kernel's entry in GRUB's menu; empty where there is no such menu."""
    menu = read_text(str(Path(root, MENU)))
    return "" if menu is None else grub_menu.entry_of(menu, kernel)


def _files(kernel: str, root: str) -> list[WantedFile]:
    wanted = []
    if has_menu(root):
        # Without an entry the kernel's package is still to come, or the menu was not written since.
        wanted.append(WantedFile(str(Path(root, DROP_IN)), grub_drop_in(_entry(kernel, root) or kernel)))
    if Path(root, NEEDRESTART).is_dir():
        wanted.append(WantedFile(str(Path(root, NEEDRESTART_DROP_IN)), needrestart_drop_in(kernel)))
    return wanted


def _set_default(kernel: str, run: Run, root: str) -> None:
    if _entry(kernel, root) is None:
        raise GaudiError(
            f"{Path(root, MENU)} has no entry for kernel {kernel}, which is installed; repair GRUB's files."
        )
    if has_menu(root):
        _update_menu(run)
    else:
        _grubby(kernel, run)


def _update_menu(run: Run) -> None:
    done = run(["update-grub"])
    if done.rc != 0:
        raise GaudiError(f"update-grub failed: {last_line(done.stderr)}; repair GRUB's files and run again.")


def _grubby(kernel: str, run: Run) -> None:
    done = run(["grubby", "--set-default", f"/boot/vmlinuz-{kernel}"])
    if done.rc != 0:
        reason = last_line(done.stderr + done.stdout)
        raise GaudiError(f"grubby cannot make {kernel} the default: {reason}; repair the node's boot entries.")


def _write(changes: Sequence[FileChange]) -> None:
    for change in changes:
        write(change)


def _put_back(changes: Sequence[FileChange]) -> None:
    for change in changes:
        mode = change.wanted.mode if change.before_mode is None else change.before_mode
        _write(pending([WantedFile(change.wanted.path, change.before, mode)]))
