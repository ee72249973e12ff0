# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of all modules that have no action of their own: meta/runtime.yml leads them here."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleStep


class ActionModule(RoleStep):
    """See the documentation of the module ``gaudi3.scale.hpu_info``."""
