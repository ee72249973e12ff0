# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every gate of ``make test``, in the order in which they run: what fails fast comes first.

What needs nodes runs beside the rest, in two lanes: the ones wait for SSH, dpkg or a node's death while others compute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType

from .runner import ROOT, Gate

NODES = "shared nodes"
OWN_NODES = "nodes of their own"
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
# One scenario a role, in the order of the layers: the first looks at virgin nodes.
FIRST_LAYER = "gaudi_preflight"
LATER_LAYERS = (
    "gaudi_host",
    "gaudi_driver",
    "gaudi_container_runtime",
    "gaudi_fabric",
    "gaudi_training_stack",
    "gaudi_tuning",
    "gaudi_verify",
)
# Checkouts on one machine do not meet: each has nodes of its own.
TEST_SANDBOX = os.environ.get("GAUDI_TEST_SANDBOX", f"gaudi3-test-{sha256(str(ROOT).encode()).hexdigest()[:4]}")


def molecule(
    scenario: str,
    destroy: str = "never",
    bases: tuple[str, ...] = ("config",),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[str, ...], ...]:
    """One scenario, on the shared nodes where it makes none, with Molecule's own state kept below build/.

    ``bases`` are the files of .config/molecule that say what all scenarios share. State of an earlier run goes first:
    one that was interrupted left in it that the nodes are there.
    """
    state = str(ROOT / "build" / "molecule" / scenario)
    given = {"GAUDI_TEST_SANDBOX": TEST_SANDBOX, "MOLECULE_EPHEMERAL_DIRECTORY": state, **settings}
    shared = (word for base in bases for word in ("--base-config", str(ROOT / f".config/molecule/{base}.yml")))
    command = ("molecule", *shared, "test", "--scenario-name", scenario, "--destroy", destroy)
    return ("rm", "-rf", state), ("env", *(f"{name}={value}" for name, value in given.items()), *command)


def removed(sandbox: str) -> tuple[str, ...]:
    """What removes a sandbox's nodes, network and state; does nothing where there are none."""
    return ("python", "-m", "sandbox", "down", "--name", sandbox)


def on_shared_nodes(layer: str) -> Gate:
    """The gate of a role's scenario; the later layers find what the gate ``site`` has brought up in one run."""
    commands = molecule(layer, bases=("config", "short"))
    return Gate(f"molecule-{layer}", "converge, verify", commands, needs=("sandbox",), limit=1800, lane=NODES)


def with_every_step(layer: str) -> Gate:
    """The same with what Molecule's own sequence has, from virgin nodes on: each finds what the one before left."""
    gate, virgin = on_shared_nodes(layer), ("python", "-m", "sandbox", "reset", "--name", TEST_SANDBOX)
    commands = (virgin, *molecule(layer)) if layer == LATER_LAYERS[0] else molecule(layer)
    return replace(gate, checks="check, converge, idempotence, verify", commands=commands)


def on_own_nodes(scenario: str, checks: str, limit: float, lane: str = OWN_NODES, *, is_long: bool = False) -> Gate:
    """The gate of a scenario that makes its own nodes and removes them."""
    name = f"{TEST_SANDBOX}-{scenario}"
    commands = molecule(scenario, "always", settings={f"GAUDI_{scenario.upper()}_SANDBOX": name})
    needs = ("artifact", "sandbox")
    return Gate(scenario, checks, (removed(name), *commands), needs, limit, lane, removed(name), is_long=is_long)


def of_many_tests(name: str, checks: str, folder: str, limit: float) -> Gate:
    """The gate of a folder of tests, of which only what failed is worth a second run."""
    cache = str(ROOT / "build" / "pytest-cache" / name)
    tests = ("python", "-m", "pytest", "-q", "-o", f"cache_dir={cache}", folder)
    again = (*tests, "--last-failed", "--last-failed-no-failures", "none")
    return Gate(name, checks, (("rm", "-rf", cache), (*tests, "--durations=15")), limit=limit, failed_again=(again,))


def schedules(seeds: int, limit: float) -> Gate:
    """The gate of random schedules of faults."""
    command = ("python", "-m", "tests.simulate_supervisors", "--seeds", str(seeds))
    return Gate("schedules", f"{seeds:,} random schedules of faults for supervisors", (command,), limit=limit)


GATES = (
    Gate("ruff", "lint and format of the Python files", (("ruff", "check", "."), ("ruff", "format", "--check", "."))),
    # Early, since both other lanes wait for it.
    Gate("artifact", "the tarball holds what it must, and installs", ((*PYTEST, "tests/artifact"),)),
    Gate("mypy", "strict types of all but tests", (("mypy",),)),
    Gate(
        "oldest-python", "what runs on a node runs on Python 3.9", (("vermin", "-t=3.9-", "--violations", "plugins"),)
    ),
    Gate("contracts", "defaults, documents, versions and sources agree", ((*PYTEST, "tests/contracts"),)),
    of_many_tests("unit", "the core, the modules, the controller's code and the simulator", "tests/unit", 2700),
    of_many_tests(
        "node-library", "trainings, checkpoints, supervisors, studies on the CPU", "tests/node_library", 2700
    ),
    schedules(400, 1800),
    Gate("changelog", "fragments and releases", (("antsibull-changelog", "lint"),)),
    Gate("licences", "each file says whose it is and under what", (("reuse", "lint", "--quiet"),)),
    Gate(
        "documents",
        "what Ansible's documentation is made of: modules, roles, options that are named",
        (
            (
                "env",
                "ANSIBLE_COLLECTIONS_PATH=.collections",
                "antsibull-docs",
                "lint-collection-docs",
                "--plugin-docs",
                ".",
            ),
        ),
    ),
    Gate("shellcheck", "the shell scripts", (("shellcheck", "scripts/setup", ".ci/run"),)),
    Gate("ansible-lint", "profile production, nothing skipped", (("python", "-m", "tests.gates.lint"),)),
    Gate("galaxy", "what Galaxy's importer says of the tarball", (("python", "-m", "tests.gates.galaxy"),)),
    Gate(
        "handbook",
        "the documentation as a site, no link of it dead",
        (("env", "PYTHONPATH=.collections", "python", "-m", "scripts.build_site"),),
    ),
    Gate("sanity", "ansible-test sanity on what is shipped", (("python", "-m", "tests.gates.sanity"),)),
    Gate(
        "sandbox",
        "two fresh nodes, simulated cards, the vault",
        (
            removed(TEST_SANDBOX),
            ("python", "-m", "sandbox", "up", "--name", TEST_SANDBOX),
        ),
        limit=1800,
        lane=NODES,
        undo=removed(TEST_SANDBOX),
    ),
    on_shared_nodes(FIRST_LAYER),
    Gate(
        "site",
        "the installed collection, twice on virgin nodes",
        molecule("site"),
        needs=("sandbox", "artifact"),
        limit=2400,
        lane=NODES,
    ),
    Gate(
        "golden",
        "a node's disk kept: scenarios that ask nothing about installing begin with it",
        (("python", "-m", "sandbox", "capture", "node2", "--name", TEST_SANDBOX),),
        needs=("site",),
        lane=NODES,
    ),
    *(on_shared_nodes(layer) for layer in LATER_LAYERS),
    Gate(
        "programs",
        "users' own programs that lose a rank, by the installed collection",
        molecule("programs"),
        needs=("site",),
        limit=1800,
        lane=NODES,
    ),
    Gate(
        "training",
        "probe, compare, tune, launch, go on, fail and stop over both nodes",
        molecule("training"),
        needs=("site",),
        limit=3600,
        lane=NODES,
    ),
    Gate(
        "firmware",
        "cards' firmware shown, refused, written, cut off and taken up again",
        molecule("firmware"),
        needs=("site",),
        limit=1200,
        lane=NODES,
    ),
    Gate(
        "faults",
        "bad input: one sentence, nothing touched",
        molecule("faults"),
        needs=("sandbox",),
        limit=1800,
        lane=NODES,
    ),
    Gate(
        "storage",
        "disks that keep a rate: mounted, measured by a real fio, judged against a training",
        molecule("storage"),
        needs=("sandbox",),
        limit=1200,
        lane=NODES,
    ),
    Gate(
        "monitoring",
        "nodes tell their metrics to one reader, over TLS, also where a card or hl-smi fails",
        molecule("monitoring"),
        needs=("sandbox",),
        limit=1800,
        lane=NODES,
    ),
    Gate(
        "slurm-drain",
        "a real Slurm: our drains are lifted, others stay, tasks get the flags",
        molecule("slurm_drain"),
        needs=("sandbox",),
        limit=1200,
        lane=NODES,
    ),
    Gate(
        "teardown",
        "the tests' nodes are removed",
        (removed(TEST_SANDBOX),),
        lane=NODES,
    ),
    # Shared out so that all lanes take as long.
    on_own_nodes(
        "engines", "jobs through a real Slurm and a real Open MPI over three nodes", 3600, "checkout", is_long=True
    ),
    on_own_nodes("upgrade", "three nodes up and down with faults injected: back, resumed, named", 3600),
    on_own_nodes(
        "bundle",
        "a bundle built, damaged, mended, served, and installed from without any other network",
        1800,
        is_long=True,
    ),
    on_own_nodes(
        "attacks", "an account that may run jobs attacks root's files past and through its job", 2400, "checkout"
    ),
    on_own_nodes("surviving", "jobs lose ranks, nodes, the network and their controller, and go on", 3600),
    on_own_nodes(
        "qualification",
        "five nodes, a bad thing each: what is bad is found and named, and nothing else",
        1800,
        "checkout",
        is_long=True,
    ),
    on_own_nodes(
        "controller",
        "surveys' answers, slices, cancelled jobs, an execution environment, a node that an alert takes out",
        3600,
    ),
    on_own_nodes(
        "peers",
        "a hostile machine floods, replays, forges and answers with code beside a running job",
        1800,
        is_long=True,
    ),
    Gate(
        "rhel",
        "real dnf, rpm and DKMS on a node that stands in for RHEL 9",
        (("env", f"GAUDI_RHEL_SANDBOX={TEST_SANDBOX}-rhel", *PYTEST, "tests/rhel"),),
        needs=("sandbox",),
        limit=1200,
        lane=OWN_NODES,
        undo=removed(f"{TEST_SANDBOX}-rhel"),
        is_long=True,
    ),
)

# In `make test-long` in place of the gates of the same name.
LONG_GATES = (schedules(50_000, 10800), *map(with_every_step, (FIRST_LAYER, *LATER_LAYERS)))
