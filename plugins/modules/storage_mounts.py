#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: storage_mounts
short_description: Mount file systems for data sets and checkpoints with systemd, and set Lustre striping
version_added: "1.0.0"
description:
  - Writes and starts a systemd mount unit for each of O(mounts). C(/etc/fstab) is not changed. A path that is listed
    there, or that was mounted by other means, is refused.
  - Formats nothing, hides no files below a mount point, and unmounts nothing that is in use.
  - A mount that fails stops no other; the task fails at the end and names each failure.
options:
  mounts:
    description: File systems to mount.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Mount point, as a plain absolute path.
        type: path
        required: true
      source:
        description:
          - Source, such as C(filer:/export/datasets), C(10.0.0.5@o2ib:/scratch) or C(/dev/disk/by-id/nvme-...).
        type: str
        default: ""
      type:
        description: Type of the file system.
        type: str
        choices: [nfs, lustre, ext4, xfs]
        default: nfs
      options:
        description:
          - Options of C(mount), one word each, in place of C(hard) for NFS, C(flock,noatime) for Lustre, C(noatime).
        type: list
        elements: str
        default: []
      state:
        description: V(absent) unmounts it and removes the unit.
        type: str
        choices: [mounted, absent]
        default: mounted
      free:
        description: Minimum free space for O(user), such as C(2T), in the file system and in a Lustre quota.
        type: str
        default: "0"
  stripes:
    description: Lustre directories, and the layout of new files in them.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Path of the directory.
        type: path
        required: true
      count:
        description: Targets per file; V(-1) for all. Refused if most files in the directory are smaller than 1 MiB.
        type: int
        required: true
      size:
        description: Stripe size in bytes, a multiple of C(64K).
        type: str
        default: 1M
  lustre_settings:
    description: Lustre client settings for C(lctl set_param), such as C(osc.*.max_dirty_mb). Set now and at every boot.
    type: dict
    default: {}
  lustre_packages:
    description: Packages of the Lustre client, installed if a mount needs them and they are missing.
    type: list
    elements: str
    default: []
  local_places:
    description: Directories that must not be on a network file system, such as a recipe cache.
    type: list
    elements: path
    default: [/var/lib/gaudi3_scale]
  user:
    description: Account of jobs, whose free space is checked.
    type: str
    default: gaudi
attributes:
  check_mode:
    support: full
    description: Checks whether servers respond; nothing is installed, written or mounted.
  diff_mode:
    support: full
    description: Shows units, packages, mounts, stripes and settings.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Mount data sets and checkpoints
  gaudi3.scale.storage_mounts:
    mounts:
      - path: /mnt/datasets
        source: filer:/export/datasets
        options: [ro, hard, nconnect=8]
      - path: /mnt/checkpoints
        source: 10.0.0.5@o2ib:/scratch
        type: lustre
        free: 20T
    stripes:
      - path: /mnt/checkpoints/llama
        count: -1
        size: 4M
  become: true
"""

RETURN = r"""
mounts:
  description:
    - Mounted file systems, each with C(path), C(source), C(type) and C(left_bytes), the space that the account can
      still use.
  type: list
  elements: dict
  returned: always
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.mounts import ABSENT, MOUNTED, TYPES
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.state import Options, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.units import Node

MOUNT = {
    "path": {"type": "path", "required": True},
    "source": {"type": "str", "default": ""},
    "type": {"type": "str", "choices": list(TYPES), "default": "nfs"},
    "options": {"type": "list", "elements": "str", "default": []},
    "state": {"type": "str", "choices": [MOUNTED, ABSENT], "default": MOUNTED},
    "free": {"type": "str", "default": "0"},
}
STRIPE = {
    "path": {"type": "path", "required": True},
    "count": {"type": "int", "required": True},
    "size": {"type": "str", "default": "1M"},
}

FORMS = {"lustre_packages": check_package}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("mounts.source",),
        signed=("stripes.count",),
        forms=FORMS,
        argument_spec={
            "mounts": {"type": "list", "elements": "dict", "default": [], "options": MOUNT},
            "stripes": {"type": "list", "elements": "dict", "default": [], "options": STRIPE},
            "lustre_settings": {"type": "dict", "default": {}},
            "lustre_packages": {"type": "list", "elements": "str", "default": []},
            "local_places": {"type": "list", "elements": "path", "default": ["/var/lib/gaudi3_scale"]},
            "user": {"type": "str", "default": "gaudi"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    return converge(Options(**options), run_process, module.check_mode, Node())


if __name__ == "__main__":
    main()
