# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a verdict can say, as data: from which share of a step on, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

DATA, HOST, COMPILE, COMMUNICATION, MEMORY = "data", "host", "compile", "communication", "memory"
SLOW_RANK, SLOW_NODE, SLOW_LINK, COMPUTE = "slow rank", "slow node", "slow link", "compute"


@dataclass(frozen=True)
class Rule:
    """A cause is said from ``least`` of a step on. ``next`` may name ``{node}``."""

    least: float
    said: str
    next: str


# TraceML warns from a tenth of a step on, too. Host time is what is left between the operations: of small models Python
# needs a fifth without a fault, and so do moves of memory for gradients and optimizer. Ranks that share a host's cores
# differ by a tenth without a fault, step after step (python -m benchmarks.profile_verdicts).
RULES = {
    DATA: Rule(
        0.10,
        "data-bound: ranks wait for batches",
        "gaudi3_scale data workers measures how many processes keep up; then give --workers auto",
    ),
    HOST: Rule(
        0.20,
        "host-bound: Python is at work or waits between operations, and the card has none queued",
        "open the trace (docs/profile.md#traces) and look for the gaps between operations; a larger --batch-size and "
        "--compile make them fewer",
    ),
    COMPILE: Rule(
        0.10,
        "compile-bound: graphs are compiled again after the warm-up",
        "keep shapes equal (pad to a few lengths, drop the last batch); launch_training.yml with TORCH_LOGS=recompiles "
        "in gaudi_training_environment names the tensor",
    ),
    COMMUNICATION: Rule(
        0.10,
        "communication-bound: all ranks wait for gradients on their way",
        "ansible-playbook gaudi3.scale.measure_collectives; then give --accumulate or --gradient-compression bf16",
    ),
    MEMORY: Rule(
        0.20,
        "memory-bound: the time goes into moving bytes, or into an allocator that is short of them",
        "open the trace and look for the copies named; if memory is full, gaudi3_scale estimate and --checkpointing",
    ),
    SLOW_RANK: Rule(
        0.15,
        "a slow rank: all others wait for it",
        "ansible-playbook gaudi3.scale.verify --limit {node}; with --profile-ranks {rank} its trace shows what it does",
    ),
    SLOW_NODE: Rule(
        0.15,
        "a slow node: all of its ranks are slow, and the others wait for them",
        "ansible-playbook gaudi3.scale.qualify_nodes --limit {node}; then gaudi3.scale.find_bad_nodes",
    ),
    SLOW_LINK: Rule(
        0.10,
        "a slow link: the ring of ranks goes at its pace",
        "ansible-playbook gaudi3.scale.benchmark_fabric",
    ),
    COMPUTE: Rule(
        0.0,
        "compute-bound: no other cause takes a notable share",
        "ansible-playbook gaudi3.scale.compare_settings with --precision bf16, --compile or a larger --batch-size",
    ),
}
# Steps without a trace that a verdict needs, and the smallest part of the job's ranks.
FEWEST_STEPS = 5
FEWEST_RANKS = 0.8
# A rank is slow in itself where it is behind in this part of the steps.
STEADY = 0.9
# And where no rank without a fault comes within this part of what is notable.
APART = 0.5
# Seconds that tracing takes for an event, generously.
TRACED_EVENT = 1e-5
# A rank that waits for a processor for this part of a step is told of beside the verdict.
QUEUED = 0.10
# A link that takes so many times as long as the fastest of its kind, within a node or between nodes.
SLOW_LINK_RATIO = 3.0
# From here on memory is called full beside the verdict.
FULL_MEMORY = 0.95
# A card that is still at work for this part of a step when its host has nothing more to queue does not wait for it.
BUSY_CARD = 0.05
