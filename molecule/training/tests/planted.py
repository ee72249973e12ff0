# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Keys that can be told apart wherever they turn up, and the search for them in all that a run leaves behind."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from testinfra.host import Host

# Where a node keeps what outlives a process; /run is what outlives it until the next boot.
PLACES = "/etc /home /opt /root /run /srv /tmp /usr/local /var"
# Not below one of them.
_PATTERNS = "/dev/shm/planted"


@dataclass(frozen=True)
class Found:
    """A file with keys in it: its mode, its owner, and which keys."""

    path: str
    mode: int
    owner: str
    keys: frozenset[str]

    @property
    def is_private(self) -> bool:
        return self.mode & 0o077 == 0


def note(node: Host, keys: list[str]) -> None:
    """Put the keys where the node's own grep reads them. sudo writes each command to the journal: none has a key."""
    reported = base64.b64encode("".join(f"{key}\n" for key in keys).encode()).decode()
    node.check_output(f"umask 077; echo {reported} | base64 -d > {_PATTERNS}")


def forget(node: Host) -> None:
    node.check_output(f"rm -f {_PATTERNS}")


def files(node: Host) -> list[Found]:
    """Every file of the node with a noted key: they are of this run, and whatever was not changed since has none."""
    since = f"-xdev -type f -cnewer {_PATTERNS}"
    listed = node.run(f"find {PLACES} {since} -exec grep -alFf {_PATTERNS} {{}} +").stdout.splitlines()
    return [_found(node, path) for path in sorted(listed)]


def _found(node: Host, path: str) -> Found:
    file = node.file(path)
    keys = node.check_output(f"grep -aohFf {_PATTERNS} %s | sort -u", path).splitlines()
    return Found(path, file.mode, file.user, frozenset(keys))


def journal(node: Host) -> list[str]:
    """The noted keys that the journal has, in any field of any entry."""
    return node.run(f"journalctl --no-pager -o export | grep -aoFf {_PATTERNS} | sort -u").stdout.splitlines()


def everybodys(node: Host) -> str:
    """What any account can ask for while jobs run: the words of all processes, and what systemd says of our units."""
    return node.check_output("ps -eww -o args=; systemctl show 'gaudi3*'; systemctl cat 'gaudi3*' 2>/dev/null || true")


def on_the_controller(directory: Path, keys: list[str]) -> dict[str, set[str]]:
    """The files below ``directory`` with keys, but for the one in which ansible-runner is given the variables."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_file() and path.parts[-2:] != ("env", "extravars"):
            content = path.read_bytes()
            found[str(path.relative_to(directory))] = {key for key in keys if key.encode() in content}
    return {name: reported for name, reported in found.items() if reported}
