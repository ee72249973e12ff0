# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Versions of the engines as they print them, and which of them read CDI."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.engines import reads_cdi, too_old, version
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult


@pytest.mark.parametrize(
    ("engine", "said", "have", "reads"),
    [
        ("docker", "Docker version 20.10.24+dfsg1, build 297e128\n", (20, 10), False),
        ("docker", "Docker version 25.0.1, build 29cf629\n", (25, 0), True),
        ("podman", "podman version 4.3.1\n", (4, 3), True),
        ("podman", "podman version 3.4.4\n", (3, 4), False),
        ("containerd", "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1\n", (1, 6), False),
        ("containerd", "containerd containerd.io 1.7.25 bcc810d6b9066471b0b6fa75f557a15a1cbf31bb\n", (1, 7), True),
        ("containerd", "containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4\n", (2, 1), True),
        ("docker", "", None, True),
    ],
)
def test_version(engine: str, said: str, have: tuple[int, int] | None, reads: bool) -> None:
    found = version(engine, lambda _argv, **_more: CommandResult(0, said, ""))
    assert found == have
    assert reads_cdi(engine, found) is reads


def test_an_old_engine_is_named_in_one_sentence() -> None:
    assert too_old("podman", (3, 4)) == (
        "podman 3.4 reads no CDI specifications, 4.3 is the first that does; its file stays without."
    )
