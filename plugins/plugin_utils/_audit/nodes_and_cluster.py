# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an audit asks of each node, and of what is kept of the cluster."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit import measures
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.item import CLUSTER, NODE, Item, guide
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.life_cycles import life_cycles
from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.thresholds import MOST

NODES_AND_CLUSTER = (
    Item(
        "recipe_cache",
        "Are compiled graphs kept from one start to the next?",
        NODE,
        measures.recipe_cache,
        "ansible-playbook gaudi3.scale.flags",
        missing="the node has no file of flags",
        advice=True,
        lists=("**Caching**: Implement intelligent caching strategies",),
    ),
    Item(
        "tuned",
        "Was there a search over settings?",
        CLUSTER,
        measures.kept("tune_training"),
        "ansible-playbook gaudi3.scale.tune_training",
        missing="no report of a study is kept",
        lists=("**Auto-tuning**: Use automated hyperparameter optimization", "2. Automated optimization tuning"),
    ),
    Item(
        "collectives",
        "Were the collectives measured?",
        CLUSTER,
        measures.kept("measure_collectives"),
        "ansible-playbook gaudi3.scale.measure_collectives",
        missing="no report of them is kept",
        lists=("**Communication**: Optimize distributed communication", "4. Scaling optimizations"),
    ),
    Item(
        "storage",
        "Is the storage fast enough for data and checkpoints?",
        CLUSTER,
        measures.kept(
            "measure_storage",
            lambda report: report.get("exit_code") == 0,
            is_known=lambda report: report.get("exit_code") in (0, 1),
        ),
        "ansible-playbook gaudi3.scale.measure_storage",
        missing="no report of it is kept",
        lists=("Use fast storage for checkpoints",),
    ),
    Item(
        "cpu_busy",
        "Are the processors free for the ranks?",
        NODE,
        measures.of_system("cpu_busy"),
        "top on the node; workers of the data loader (gaudi3_scale data workers)",
        missing="the node did not report it",
        threshold=guide(0.80, MOST, "of the time"),
        lists=("- **CPU Usage**: <80% average",),
    ),
    Item(
        "memory_used",
        "Is memory left on the host?",
        NODE,
        measures.of_system("memory_used"),
        "ansible-playbook gaudi3.scale.host: huge pages are not a job's; fewer workers of the data loader",
        missing="the node did not report it",
        threshold=guide(0.85, MOST, "of the memory"),
        lists=("- **Memory Usage**: <85% system memory",),
    ),
    Item(
        "io_wait",
        "Do processors wait for disks?",
        NODE,
        measures.of_system("io_wait"),
        "ansible-playbook gaudi3.scale.measure_storage",
        missing="the node did not report it",
        threshold=guide(0.10, MOST, "of the time"),
        lists=("- **I/O Wait**: <10% CPU time",),
    ),
    Item(
        "failed_jobs",
        "How many of its jobs failed?",
        NODE,
        measures.failed_jobs,
        "ansible-playbook gaudi3.scale.show_training of a job that failed; qualify_nodes.yml",
        missing="the node has run no job",
        threshold=guide(0.01, MOST, "of its jobs"),
        lists=("- **Stability**: <1% training failure rate",),
    ),
    Item(
        "verified",
        "Was every node sound at the end of site.yml?",
        CLUSTER,
        measures.kept("site", measures.all_ok),
        "ansible-playbook gaudi3.scale.site",
        missing="no report of site.yml or verify.yml is kept",
    ),
    Item(
        "qualified",
        "Has the node passed its last qualification?",
        NODE,
        measures.qualified,
        "ansible-playbook gaudi3.scale.qualify_nodes",
        missing="it was never qualified",
        lists=("3. Hardware-specific optimizations",),
    ),
    Item(
        "card_readings",
        "Do the kernel, hl-smi and HLML agree about each card?",
        NODE,
        measures.card_readings,
        "ansible-playbook gaudi3.scale.driver, so that driver, library and hl-smi are of one release; verify.yml",
        missing="no driver holds a card",
    ),
    Item(
        "life_cycles",
        "Is what the node runs still supported, and free of known holes?",
        NODE,
        life_cycles,
        "ansible-playbook gaudi3.scale.plan_upgrade; docs/life_cycles.md has each source",
        missing="no driver is loaded",
        advice=True,
    ),
    Item(
        "baseline",
        "Are the cluster's own figures kept?",
        CLUSTER,
        measures.kept("baseline"),
        "ansible-playbook gaudi3.scale.save_baseline",
        missing="no qualification_baseline.json is kept in gaudi_report_target",
        lists=("Update benchmarks",),
    ),
    Item(
        "same_flags",
        "Do all nodes train with the same flags?",
        CLUSTER,
        measures.same_flags,
        "ansible-playbook gaudi3.scale.flags; explain_node.yml for what else differs",
        missing="fewer than two nodes have a file of flags",
        lists=("- **Reproducibility**: Consistent results across runs",),
    ),
)
