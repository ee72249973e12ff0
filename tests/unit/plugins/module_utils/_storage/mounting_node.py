# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node whose systemd mounts by its unit files: programs by their answers, a mount table that they change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.state import Options, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.units import Node, unit_name

OK = CommandResult(0, "", "")


class MountingNode:
    """``refuses``: places that cannot be mounted. ``busy``: places that cannot be unmounted."""

    def __init__(self, root: Path) -> None:
        self.root, self.etc = root, root / "etc"
        (self.etc / "systemd/system").mkdir(parents=True)
        (self.etc / "os-release").write_text("ID=debian\n")
        (root / "var/lib/dpkg").mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text("")
        self.table = root / "mountinfo"
        self.mounted: dict[str, tuple[str, str]] = {"/": ("ext4", "/dev/sda1")}
        self.enabled: set[str] = set()
        self.refuses: dict[str, str] = {}
        self.busy: set[str] = set()
        self.disks = {"/dev/nvme0n1": "xfs"}
        self.free = 1 << 40
        self.quota = ""
        self.stripes: dict[str, list[str]] = {}
        self.settings: dict[str, str] = {}
        self.calls: list[str] = []
        self._write_table()

    def converge(self, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        return converge(Options(**options), self.run, check_mode, Node(str(self.etc), str(self.table)))

    def mount(self, path: str, kind: str, source: str) -> None:
        self.mounted[path] = (kind, source)
        self._write_table()

    def unit(self, path: str) -> Path:
        return self.etc / "systemd/system" / unit_name(path)

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.calls.append(" ".join(argv))
        name, *words = argv
        answer = getattr(self, f"_{name.replace('-', '_')}", None)
        return answer(words) if answer else OK

    def _systemctl(self, words: list[str]) -> CommandResult:
        verb, unit = words[0], words[-1]
        if verb == "is-enabled":
            return OK if unit in self.enabled else CommandResult(1, "", "")
        if verb == "enable":
            self.enabled.add(unit)
        if verb == "disable":
            self.enabled.discard(unit)
        path = self.etc / "systemd/system" / unit
        if not unit.endswith(".mount") or not path.exists():
            return OK
        found = dict(re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE))
        where = found["Where"]
        if verb == "restart":
            if where in self.refuses:
                return CommandResult(1, "", "Job failed.")
            self.mount(where, found["Type"], found["What"])
        return OK

    def _umount(self, words: list[str]) -> CommandResult:
        if words[0] in self.busy:
            return CommandResult(32, "", f"umount: {words[0]}: target is busy.\n")
        del self.mounted[words[0]]
        self._write_table()
        return OK

    def _journalctl(self, words: list[str]) -> CommandResult:
        said = [text for where, text in self.refuses.items() if unit_name(where) == words[1]]
        return CommandResult(0, "\n".join(["Mounting...", *said, "Failed to mount."]), "")

    def _blkid(self, words: list[str]) -> CommandResult:
        kind = self.disks.get(words[-1], "")
        return CommandResult(0 if kind else 2, kind + "\n", "")

    def _stat(self, words: list[str]) -> CommandResult:
        return CommandResult(0, f"{self.free // 4096} 4096\n", "")

    def _dpkg_query(self, _words: list[str]) -> CommandResult:
        return CommandResult(0, "nfs-common\t1.0\tinstall\tinstalled\n", "")

    def _lfs(self, words: list[str]) -> CommandResult:
        if words[0] == "quota":
            return CommandResult(0, self.quota, "")
        count, size = self.stripes.get(words[-1], ["1", "1048576"])
        return CommandResult(0, f"{count if '--stripe-count' in words else size}\n", "")

    def _setpriv(self, words: list[str]) -> CommandResult:
        at = words.index("setstripe")
        self.stripes[words[-1]] = [words[at + 2], words[at + 4]]
        return OK

    def _lctl(self, words: list[str]) -> CommandResult:
        value = self.settings.get(words[-1])
        return CommandResult(0, f"{value}\n{value}\n", "") if value else CommandResult(2, "", "no such")

    def _write_table(self) -> None:
        lines = [f"1 2 0:1 / {where} rw - {kind} {source} rw" for where, (kind, source) in self.mounted.items()]
        self.table.write_text("\n".join(lines) + "\n")
