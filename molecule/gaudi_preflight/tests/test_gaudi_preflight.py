# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After preflight: the node was looked at and not touched."""

from __future__ import annotations

from testinfra.host import Host


def test_the_node_is_as_it_was(host: Host) -> None:
    touched = host.run(
        "find /boot /etc /opt /usr /lib/modules /var/lib/dpkg /var/lib/apt -xdev ! -type d"
        " -newer /run/gaudi3-scale-test-started"
    )
    assert touched.stdout.splitlines() == []


def test_the_collection_left_no_state(host: Host) -> None:
    """The scenario runs first, on virgin nodes."""
    for path in ("/etc/gaudi3_scale", "/var/lib/gaudi3_scale", "/var/log/gaudi3_scale", "/opt/gaudi3_scale"):
        assert not host.file(path).exists, path
