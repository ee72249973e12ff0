# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a survey's question has where the option's own name and description do not make a good one: a table.

``title``: in place of the option's name; ``text``: in place of its description, which is for somebody who writes
YAML; ``min`` and ``max``: the least and the largest number, or of a text its shortest and longest, by which the
controller refuses what the role would; ``default``: what is in it at first, None where the role takes another
variable's value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "gaudi_allow_reboot": {"title": "Allow reboots", "default": None},
    "gaudi_allow_unsupported_os": {"title": "Allow an unsupported operating system", "default": None},
    "gaudi_audit_job": {"title": "Job name"},
    "gaudi_batch_global_batch": {"title": "Global batch size (samples per step)", "min": 0},
    "gaudi_batch_multiple_of": {"title": "Multiple of (samples)", "min": 1},
    "gaudi_batch_refresh": {"title": "Repeat known trials"},
    "gaudi_batch_workload": {"title": "Workload (module:function)"},
    "gaudi_benchmark_history": {"title": "History file"},
    "gaudi_benchmark_repeats": {"title": "Runs per row", "min": 2},
    "gaudi_benchmark_steps": {"title": "Steps per run", "min": 1},
    "gaudi_bundle_fingerprint": {"title": "Fingerprint of the signing key"},
    "gaudi_bundle_host": {"title": "Bundle host"},
    "gaudi_bundle_jobs": {"title": "Parallel downloads", "min": 1},
    "gaudi_bundle_path": {"title": "Bundle directory"},
    "gaudi_bundle_port": {"title": "TCP port", "min": 1, "max": 65535},
    "gaudi_bundle_serve": {"title": "Serve the bundle"},
    "gaudi_bundle_valid_days": {"title": "Validity (days)", "min": 1},
    "gaudi_collectives_dtype": {"title": "Data type (dtype)"},
    "gaudi_collectives_min_bytes": {"title": "Smallest size (bytes)"},
    "gaudi_collectives_names": {"title": "Collectives"},
    "gaudi_compare_flags": {
        "title": "Flags to compare",
        "text": "Flags as NAME=value,NAME=value. Each is compared with a run without it.",
    },
    "gaudi_compare_refresh": {"title": "Repeat known runs"},
    "gaudi_compare_rounds": {"title": "Maximum number of rounds", "min": 1},
    "gaudi_compare_steps": {"title": "Steps per run", "min": 1},
    "gaudi_compare_together": {"title": "Measure the best flags together"},
    "gaudi_compare_workload": {"title": "Workload (module:function)"},
    "gaudi_containers_check": {"title": "Check with a container"},
    "gaudi_cost_capital": {
        "title": "Price of a node",
        "text": "Price of a bought node, as price=160000, years=4, utilization=0.8: its price, the years of use and "
        "the fraction of that time in which it works.",
    },
    "gaudi_cost_currency": {"title": "Currency (such as EUR)", "min": 3, "max": 3},
    "gaudi_cost_energy": {"title": "Report energy"},
    "gaudi_cost_job": {"title": "Job name"},
    "gaudi_cost_kwh": {
        "title": "Electricity price per kWh",
        "text": "Price per kWh, in the currency above.",
        "min": 0,
    },
    "gaudi_cost_node_hour": {
        "title": "Price of a node per hour",
        "text": "Price of a rented node per hour, in the currency above.",
        "min": 0,
    },
    "gaudi_cost_overhead_watts": {"title": "Power of a server besides its cards (W)", "min": 0},
    "gaudi_cost_pdf": {"title": "Also write a PDF"},
    "gaudi_cost_pue": {"title": "PUE (power usage effectiveness)", "min": 1},
    "gaudi_upgrade_canary": {"title": "Canary (first node)"},
    "gaudi_upgrade_node": {"text": "Node to explain, by inventory name."},
    "gaudi_upgrade_stop_device_users": {"title": "Stop services that use the cards"},
    "gaudi_exporter_state": {"title": "Metrics"},
    "gaudi_fabric_benchmark": {"title": "Measure the network"},
    "gaudi_fabric_benchmark_again": {"title": "Repeat known measurements"},
    "gaudi_firmware_canary": {"title": "Canary (first node)"},
    "gaudi_hosts": {"title": "Hosts (group or pattern)"},
    "gaudi_kubernetes_resources": {
        "title": "Resources of a pod",
        "text": "What a pod gets beside its cards, by what a node has: memory=690Gi, hugepages-2Mi=42000Mi, cpu=128.",
    },
    "gaudi_max_fail_percentage": {"title": "Maximum failed nodes (%)", "min": 0, "max": 100},
    "gaudi_migration_directory": {"title": "Directory for the inventory"},
    "gaudi_migration_sources": {
        "title": "Files of the other tool",
        "text": "Files and directories on the controller, separated by commas, such as those of a project.",
    },
    "gaudi_model_expected": {"title": "Version that the alias has now"},
    "gaudi_model_fingerprint": {"title": "Fingerprint of the model's signing key"},
    "gaudi_model_host": {"title": "Host that publishes"},
    "gaudi_model_job": {"title": "Training job"},
    "gaudi_model_name": {"title": "Model name"},
    "gaudi_model_path": {"title": "Directory of the exported model"},
    "gaudi_model_version": {"title": "Published version or alias"},
    "gaudi_power_watts": {"title": "Power limit per card (W)", "min": 1},
    "gaudi_power_while_busy": {"title": "Include busy cards"},
    "gaudi_qualify_baseline_report": {"title": "Qualification report", "default": None},
    "gaudi_qualify_expected": {"title": "Expected bus bandwidth (GB/s)", "min": 0},
    "gaudi_qualify_restart": {"title": "Restart running tests"},
    "gaudi_qualify_schedule": {
        "title": "Test schedule",
        "text": "When each node runs its self-tests, as a systemd OnCalendar time, such as Sun 03:00.",
    },
    "gaudi_qualify_schedule_state": {"title": "Timer"},
    "gaudi_qualify_spares": {"title": "Number of spare nodes", "min": 0},
    "gaudi_quarantine_hours": {"title": "Duration (hours)", "min": 0},
    "gaudi_serial": {"title": "Nodes at a time"},
    "gaudi_slurm_reconfigure": {"title": "Reconfigure Slurm now"},
    "gaudi_storage_checkpoint_interval": {"title": "Checkpoint interval (seconds)", "min": 0},
    "gaudi_storage_files": {"title": "Files per node", "min": 1, "default": None},
    "gaudi_storage_job": {"title": "Job name"},
    "gaudi_storage_parameters": {"title": "Model parameters", "min": 0},
    "gaudi_storage_seconds": {"title": "Duration per phase (seconds)", "min": 1},
    "gaudi_storage_size": {"title": "File size"},
    "gaudi_storage_tokens_per_second": {"title": "Tokens per second of the job", "min": 0},
    "gaudi_support_jobs": {
        "title": "Training jobs",
        "text": "Jobs whose logs are collected, separated by commas. If empty, the three newest of each node.",
    },
    "gaudi_support_max_mib": {"title": "Maximum size per node (MiB)", "min": 1, "max": 48},
    "gaudi_training_batch_size": {"title": "Batch size per rank", "min": 0},
    "gaudi_training_command": {
        "title": "Program and arguments",
        "text": "Command that each rank runs: a script's path on the nodes, or -m and a module, and its "
        "arguments, such as /srv/train.py --max-steps {max_steps}.",
    },
    "gaudi_training_engine": {"title": "Launcher"},
    "gaudi_training_follow": {"title": "Follow the job"},
    "gaudi_training_max_restarts": {"title": "Maximum number of restarts", "min": 0},
    "gaudi_training_max_steps": {"title": "Optimizer steps", "min": 1},
    "gaudi_training_min_nodes": {"title": "Minimum number of nodes", "min": 0},
    "gaudi_training_model": {
        "title": "Model size",
        "text": "As layers=4, width=256, heads=4, sequence_length=256, which are also the defaults.",
    },
    "gaudi_training_name": {"title": "Job name"},
    "gaudi_training_replace": {"title": "Replace a running job"},
    "gaudi_training_requirements": {
        "title": "Requirements file",
        "text": "Requirements file in the project, for what the program needs beside the training stack.",
    },
    "gaudi_training_restart": {"title": "Restart the job"},
    "gaudi_venv_update_cache": {"title": "Update package lists"},
    "gaudi_training_text": {
        "title": "Training text",
        "text": "Files and directories with text, on every node, separated by commas.",
    },
    "gaudi_flags_explain_file": {"title": "Environment file"},
    "gaudi_flags_explain_flags": {
        "title": "Flags",
        "text": "Flags as NAME=value,NAME=value. If flags, job and file are empty, the node's file is explained.",
    },
    "gaudi_flags_explain_job": {"title": "Running job"},
    "gaudi_flags_explain_profile": {"title": "Kind of job"},
    "gaudi_tune_follow": {"title": "Follow the study"},
    "gaudi_tune_name": {"title": "Study name"},
    "gaudi_tune_steps": {"title": "Optimizer steps per trial", "min": 0},
    "gaudi_tune_text": {
        "title": "Training text",
        "text": "Files and directories with text, on every node, separated by commas.",
    },
    "gaudi_tune_trials": {"title": "Number of trials", "min": 1},
    "gaudi_verify_all_reduce": {"title": "Run an all-reduce"},
}
