# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The key that opens a sandbox's nodes, and the nodes' own keys."""

from __future__ import annotations

from pathlib import Path

from .commands import run
from .paths import give_to_checkout_owner, make_directory

PRIVATE_KEY = "id_ed25519"
PUBLIC_KEY = "id_ed25519.pub"
KNOWN_HOSTS = "known_hosts"
USER = "operator"


def ensure_key(state: Path) -> None:
    """Make the sandbox's key pair unless it is there."""
    private = make_directory(state) / PRIVATE_KEY
    if not private.exists():
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"sandbox {state.name}", "-f", private])
        give_to_checkout_owner(private)
        give_to_checkout_owner(state / PUBLIC_KEY)


def known_hosts(host_keys: dict[str, str]) -> str:
    """The text of a known_hosts file from address -> public host key (``ssh-ed25519 AAAA... comment``)."""
    return "".join(f"{address} {' '.join(key.split()[:2])}\n" for address, key in sorted(host_keys.items()))
