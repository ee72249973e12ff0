# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Arguments of the kernel's command line: into GRUB's menu or RHEL's boot entries, and whether the kernel has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.rendered_files import FileChange, WantedFile, pending, read_text, write
from .kernel import boot_entries, grub_settings
from .kernel.values import value_difference
from .node import Node, Setting


def plan_kernel_arguments(arguments: Sequence[str], node: Node) -> Setting:
    """The GRUB drop-in, on nodes that boot through GRUB as the Debian family sets it up; RHEL needs none."""
    missing = _missing(arguments, node)
    facts: dict[str, object] = {"wanted": list(arguments), "missing": missing}
    if _has_grub(node):
        content = grub_settings.drop_in(arguments) if arguments else None
        file = WantedFile(_drop_in(node), content, only_ours=True)
        return Setting([file], facts, [_overridden(path, lost, node) for path, lost in _overriding(arguments, node)])
    if not missing or _has_entries(node):
        return Setting([], facts, [])
    words = " ".join(missing)
    if node.installed("grubby"):
        remedy = f"run `grubby --update-kernel=ALL --args='{words}'` and restart it"
    else:
        remedy = "add it where its kernel's command line is set (host of the container, PXE, systemd-boot)"
    return Setting([], facts, [f"kernel_arguments: {words} is not in force and this node has no grub.cfg; {remedy}."])


def leaving(arguments: Sequence[str], node: Node) -> list[str]:
    """A sentence on arguments that an earlier run added, this one takes away, and the running kernel still has."""
    earlier = f"{read_text(_drop_in(node)) or ''} {read_text(node.in_etc(boot_entries.RECORD)) or ''}"
    ours = re.findall(r"[^\s\"]+", earlier.replace("${GRUB_CMDLINE_LINUX_DEFAULT}", ""))
    running = (read_text(node.kernel("proc/cmdline")) or "").split()
    going = [word for word in running if word in ours and word not in arguments]
    if not going:
        return []
    return [f"kernel_arguments: {' '.join(going)} was removed, but stays in force until this node is rebooted."]


def update_menu(
    arguments: Sequence[str], node: Node, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> dict[str, str] | None:
    """Run update-grub where the drop-in changed, or where an earlier run was cut short before it; on RHEL grubby."""
    if _has_entries(node):
        return _update_entries(arguments, node, run, check_mode)
    change = _change(changes, node)
    before = _menu_lacks(arguments, node)
    if change is None and not (before and _is_newer(_drop_in(node), _menu(node))):
        return None
    if not check_mode:
        done = run(["update-grub"])
        if done.rc != 0:
            _put_back(change)
            last = last_line(done.stderr)
            raise GaudiError(
                f"update-grub failed and {_drop_in(node)} is unchanged: {last}; repair GRUB's files and run again.",
                stderr=done.stderr,
            )
    after = [] if check_mode else _menu_lacks(arguments, node)
    return None if before == after else value_difference(_menu(node), _menu_says(before), _menu_says(after))


def _update_entries(arguments: Sequence[str], node: Node, run: Run, check_mode: bool) -> dict[str, str] | None:
    record = node.in_etc(boot_entries.RECORD)
    ours = (read_text(record) or "").split()
    if not arguments and not ours:
        return None
    change = boot_entries.entry_change(arguments, boot_entries.read_entries(run), ours)
    files = pending([WantedFile(record, f"{' '.join(change.ours)}\n" if change.ours else None)])
    if not check_mode:
        # The record comes first: a run that is cut short must not leave arguments that nobody takes away again.
        for file in files:
            write(file)
        if change.add or change.remove:
            boot_entries.apply(change, run)
    if not (change.add or change.remove):
        return None
    before, after = _entries_say(change.remove, change.add), _entries_say(change.add, change.remove)
    return value_difference(node.in_boot(boot_entries.ENTRIES), before, after)


def _entries_say(having: Sequence[str], lacking: Sequence[str]) -> str:
    words = [*(["with", *having] if having else []), *(["without", *lacking] if lacking else [])]
    return " ".join(words)


def reboot_reasons(
    arguments: Sequence[str], node: Node, changes: Sequence[FileChange], check_mode: bool
) -> tuple[list[str], list[str]]:
    """Why the node has to be started again, and warnings where that would not help."""
    missing = _missing(arguments, node)
    if missing and _has_entries(node):
        return _entry_reasons(" ".join(missing), node)
    if not missing or not _has_grub(node):
        return [], []
    if _overriding(missing, node):
        return [], []  # The plan names the file.
    words = " ".join(missing)
    reason = f"the running kernel was started without {words}, which GRUB passes from the next start on"
    if check_mode and _change(changes, node):
        return [reason], []
    if _menu_lacks(missing, node):
        overridden = (
            f"kernel_arguments: {_menu(node)} has no {words} although {_drop_in(node)} adds it; a later file beside it "
            "overwrites GRUB_CMDLINE_LINUX_DEFAULT and has to append instead."
        )
        return [], [overridden]
    if _boot_time(node) > Path(_menu(node)).stat().st_mtime:
        elsewhere = (
            f"kernel_arguments: this node was started after {_menu(node)} had {words}, and still lacks it; "
            "something else starts its kernel (PXE, systemd-boot), so add it there."
        )
        return [], [elsewhere]
    return [reason], []


def _entry_reasons(words: str, node: Node) -> tuple[list[str], list[str]]:
    record = Path(node.in_etc(boot_entries.RECORD))
    if record.exists() and _boot_time(node) > record.stat().st_mtime:
        elsewhere = (
            f"kernel_arguments: this node was started after its boot entries had {words}, and still lacks it; "
            "something else starts its kernel (PXE, kexec), so add it there."
        )
        return [], [elsewhere]
    return [f"the running kernel was started without {words}, which its boot entry has from the next start on"], []


def _overriding(arguments: Sequence[str], node: Node) -> list[tuple[str, list[str]]]:
    """The files of grub.d that are read after ours and take arguments of ours away, each with what it takes."""
    ours = Path(_drop_in(node))
    later = sorted(path for path in ours.parent.glob("*.cfg") if path.name > ours.name)
    found = ((str(path), grub_settings.loses(read_text(str(path)) or "", arguments)) for path in later)
    return [(path, lost) for path, lost in found if lost]


def _overridden(path: str, lost: Sequence[str], node: Node) -> str:
    return (
        f"kernel_arguments: {path} is read after {_drop_in(node)} and overwrites GRUB_CMDLINE_LINUX_DEFAULT, so that "
        f"{' '.join(lost)} is lost whenever GRUB's menu is written; have it begin with "
        "${GRUB_CMDLINE_LINUX_DEFAULT}, or give it a name that comes before ours."
    )


def _drop_in(node: Node) -> str:
    return node.in_etc(grub_settings.DROP_IN)


def _menu(node: Node) -> str:
    return node.in_boot(grub_settings.MENU)


def _has_grub(node: Node) -> bool:
    """Without a menu nothing boots through GRUB here, whatever packages are installed (containers)."""
    return node.installed("update-grub") and Path(_menu(node)).exists()


def _has_entries(node: Node) -> bool:
    """RHEL and its relatives: a file for each kernel, which grubby changes."""
    entries = Path(node.in_boot(boot_entries.ENTRIES))
    return not _has_grub(node) and node.installed("grubby") and any(entries.glob("*.conf"))


def _missing(arguments: Sequence[str], node: Node) -> list[str]:
    return grub_settings.missing_arguments(read_text(node.kernel("proc/cmdline")) or "", arguments)


def _menu_lacks(arguments: Sequence[str], node: Node) -> list[str]:
    return grub_settings.menu_lacks(read_text(_menu(node)) or "", arguments) if _has_grub(node) else []


def _menu_says(lacking: Sequence[str]) -> str:
    return f"without {' '.join(lacking)}" if lacking else "with all kernel arguments"


def _is_newer(path: str, other: str) -> bool:
    return Path(path).exists() and Path(path).stat().st_mtime > Path(other).stat().st_mtime


def _change(changes: Sequence[FileChange], node: Node) -> FileChange | None:
    return next((change for change in changes if change.wanted.path == _drop_in(node)), None)


def _put_back(change: FileChange | None) -> None:
    if change is not None:
        mode = change.wanted.mode if change.before_mode is None else change.before_mode
        for undo in pending([WantedFile(change.wanted.path, change.before, mode)]):
            write(undo)


def _boot_time(node: Node) -> float:
    """When the node was started, in Unix seconds; 0 where the kernel does not say."""
    found = re.search(r"^btime (\d+)$", read_text(node.kernel("proc/stat")) or "", re.MULTILINE)
    return float(found.group(1)) if found else 0.0
