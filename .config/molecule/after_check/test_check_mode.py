# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After check mode: nothing on the node is newer than the scenario."""

from __future__ import annotations

from testinfra.host import Host

STARTED = "/run/gaudi3-scale-test-started"
# Where an operating system and this collection keep what lasts. Logs and Ansible's own temporary files are elsewhere.
LASTING = "/boot /etc /opt /usr /lib/modules /var/lib/dkms /var/lib/dpkg /var/lib/gaudi3_scale /var/lib/apt"


def test_check_mode_touched_nothing(host: Host) -> None:
    assert host.file(STARTED).exists
    touched = host.run(f"find {LASTING} -xdev ! -type d -newer {STARTED} 2>/dev/null")
    assert touched.stdout.splitlines() == []
