#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: report_target
short_description: Validate the report target before a play starts
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message where M(gaudi3.scale.report) could not write to O(target), so that it is known before
    anything was done whose result would be kept there.
  - Makes nothing and leaves nothing. Of a directory that is not there yet, the one above it is looked at. In a bucket
    an upload is begun and given up, so the credentials need no right but that to write.
  - Runs on the controller; nothing is sent to the node.
options:
  target:
    description: The place, as M(gaudi3.scale.report) takes it, and with its default.
    type: str
  writes:
    description: Further files that the play will write, each in a place of its own.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: A path on the controller, or V(s3://bucket/prefix/name).
        type: str
        required: true
      option:
        description: The variable that the operator has named it in, for messages.
        type: str
        required: true
  reads:
    description: A file that an earlier run has kept, to be read now.
    type: dict
    suboptions:
      path:
        description: A path on the controller, or V(s3://bucket/prefix/name).
        type: str
        required: true
      option:
        description: The variable that the operator has named it in, for messages.
        type: str
        required: true
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.report
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Validate the report target
  gaudi3.scale.report_target:
    target: s3://reports/gaudi
  run_once: true
"""

RETURN = r"""
target:
  description: The place, with nothing left out.
  type: str
  returned: always
  sample: /home/me/gaudi3_scale_reports
text:
  description: What O(reads) has, else nothing.
  type: str
  returned: always
"""
