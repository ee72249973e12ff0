# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The roles that ``site.yml`` has no part of."""

# What starts, stops or writes something is asked for by name, and never done by a run that sets up everything.
ACTION_ROLES = {
    "gaudi_audit",
    "gaudi_batch",
    "gaudi_benchmark",
    "gaudi_bundle",
    "gaudi_collectives",
    "gaudi_compare",
    "gaudi_controller",
    "gaudi_cost",
    "gaudi_exporter",
    "gaudi_firmware",
    "gaudi_image",
    "gaudi_kubernetes",
    "gaudi_migration",
    "gaudi_model",
    "gaudi_monitoring",
    "gaudi_power",
    "gaudi_qualify",
    "gaudi_quarantine",
    "gaudi_serving",
    "gaudi_slurm",
    "gaudi_support",
    "gaudi_training",
    "gaudi_tune",
    "gaudi_upgrade",
}
