# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The core of gaudi3.scale: standard library only, no Ansible, no torch.

Ansible ships these files to the nodes as module_utils; the wheel ships the same files as ``gaudi3_scale.core``.
Each package has one subject; docs/developing.md lists them.
"""
