# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The distribution's packages, and files, on nodes that run."""

from __future__ import annotations

from .nodes import in_node
from .plan import NodePlan

# Installs those of its arguments that are missing.
INSTALL = """
missing=$(for p in "$@"; do dpkg-query -Wf '${db:Status-Status}' "$p" 2>&1 | grep -qx installed || echo "$p"; done)
[ -n "$missing" ] || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -qy --no-install-recommends $missing
"""
# Writes standard input to $1, and says so where something else was there before.
WRITE = """
mkdir -p "${1%/*}" && cat > "$1.new"
cmp -s "$1.new" "$1" || { cat "$1.new" > "$1" && echo changed; }
rm "$1.new"
"""


def install(node: NodePlan, *packages: str) -> None:
    """Install those of the packages that the node lacks."""
    in_node(node, "sh", "-c", INSTALL, "sh", *packages)


def write_files(node: NodePlan, wanted: dict[str, str]) -> bool:
    """Bring files, path to text, to the node; says whether something else was there before."""
    said = [in_node(node, "sh", "-c", WRITE, "sh", path, text_in=text) for path, text in wanted.items()]
    return any(said)
