# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How a test sees what was touched on a node since its stage was set (``.config/molecule/stage.yml``)."""

from __future__ import annotations

STARTED = "/run/gaudi3-scale-test-started"
# Where an operating system and this collection keep what lasts. Logs and Ansible's own temporary files are elsewhere.
LASTING = "/boot /etc /opt /usr /lib/modules /var/lib/dkms /var/lib/dpkg /var/lib/gaudi3_scale /var/lib/apt"
TOUCHED = f"test -e {STARTED} || exit 9; find {LASTING} -xdev ! -type d -newer {STARTED} 2>/dev/null || true"
