# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Every item of an audit; each group is in a file of its own."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.job_progress import JOB_PROGRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.job_settings import JOB_SETTINGS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.nodes_and_cluster import NODES_AND_CLUSTER

ITEMS = (*JOB_SETTINGS, *JOB_PROGRESS, *NODES_AND_CLUSTER)
