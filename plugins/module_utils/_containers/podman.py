# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The runtime in a drop-in of podman's own. Pure text."""

from __future__ import annotations

import json

CONFIGURATION = "containers/containers.conf.d/90-gaudi3-scale.conf"


def containers_conf(*, name: str, program: str, default: bool) -> str:
    """Text of the drop-in. podman adds its table of runtimes to those of other files, so nobody's entry is lost."""
    engine = f'[engine]\nruntime = "{name}"\n\n' if default else ""
    return f"# Written by gaudi3.scale.\n{engine}[engine.runtimes]\n{name} = [{json.dumps(program)}]\n"
