# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Every gate, in the order in which they run: what fails fast comes first.

What needs nodes runs beside the rest, in two lanes: the ones wait for SSH, dpkg or a node's death while others compute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType

from .gate import ANY_LANE, FIRST, LONG_RUN, NODES_RUN, Gate
from .runner import ROOT

NODES = "shared nodes"
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
# What makes nodes, beside podman: sandbox/packages.txt names the rest, and `python -m sandbox prerequisites` looks.
NODE_PROGRAMS = ("podman", "mmdebstrap")
# One scenario a role, in the order of the layers: the first looks at virgin nodes.
FIRST_LAYER = "gaudi_preflight"
LATER_LAYERS = (
    "gaudi_host",
    "gaudi_driver",
    "gaudi_containers",
    "gaudi_fabric",
    "gaudi_venv",
    "gaudi_flags",
    "gaudi_verify",
)
# pytest takes the last -m, and pyproject.toml's comes first.
EVERY_ROW = {"PYTEST_ADDOPTS": "-m 'long or not long'"}
# Checkouts on one machine do not meet: each has nodes of its own.
TEST_SANDBOX = os.environ.get("GAUDI_TEST_SANDBOX", f"gaudi3-test-{sha256(str(ROOT).encode()).hexdigest()[:4]}")
VIRGIN_AGAIN = ("python", "-m", "sandbox", "reset", "--name", TEST_SANDBOX)
GOLDEN_AGAIN = (*VIRGIN_AGAIN, "--golden", TEST_SANDBOX)
CAPTURE = ("python", "-m", "sandbox", "capture", "node2", "--name", TEST_SANDBOX)
# Of tests/unit: what Ansible runs, on a node or on the controller.
CONTROLLER_TESTS = (
    *(
        f"tests/unit/plugins/{folder}"
        for folder in ("action", "bad_input", "callback", "inventory", "modules", "plugin_utils")
    ),
    "tests/unit/plugins/two_controllers",
    "tests/unit/extensions",
)
# All that is found on nodes by its subject, in the three places that a subject has.
HOMES = ("roles/gaudi_{}", "plugins/module_utils/_{}", "plugins/plugin_utils/_{}")


def subjects(*names: str) -> tuple[str, ...]:
    """The homes of these subjects, of which each has one at least."""
    found = {name: [home.format(name) for home in HOMES if (ROOT / home.format(name)).is_dir()] for name in names}
    without = [name for name, homes in found.items() if not homes]
    if without:
        raise ValueError(f"no folder of {', '.join(without)}: {', '.join(HOMES)}")
    return tuple(home for homes in found.values() for home in homes)


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


def on_nodes(name: str, checks: str, limit: float, covers: tuple[str, ...] = (), *, run: str = NODES_RUN) -> Gate:
    """The gate of a scenario on the shared nodes as ``site`` leaves them.

    ``covers``: where it has rows of the long run. Those begin with the golden image, whatever was played before.
    """
    scenario = name.replace("-", "_")
    return with_long_form(
        Gate(
            name,
            checks,
            molecule(scenario),
            needs=("site",),
            limit=limit,
            lane=NODES,
            run=run,
            programs=NODE_PROGRAMS,
            is_root=True,
            covers=(*covers, f"molecule/{scenario}") if covers else (),
        ),
        before=(GOLDEN_AGAIN,),
    )


def on_own_nodes(
    scenario: str, checks: str, limit: float, covers: tuple[str, ...] = (), *, begins_virgin: bool = False
) -> Gate:
    """The gate of a scenario that makes its own nodes and removes them. They begin with the golden image, or virgin."""
    name = f"{TEST_SANDBOX}-{scenario}"
    commands = molecule(scenario, "always", settings={f"GAUDI_{scenario.upper()}_SANDBOX": name})
    return with_long_form(
        Gate(
            scenario,
            checks,
            (removed(name), *commands),
            limit=limit,
            lane=ANY_LANE,
            undo=removed(name),
            run=NODES_RUN,
            after=("artifact", "sandbox") if begins_virgin else ("artifact", "sandbox", "golden"),
            programs=NODE_PROGRAMS,
            is_root=True,
            covers=(*covers, f"molecule/{scenario}") if covers else (),
        )
    )


def with_long_form(gate: Gate, before: tuple[tuple[str, ...], ...] = ()) -> Gate:
    """The gate, and where it covers something its long form: every row, after the commands ``before``."""
    if not gate.covers:
        return gate
    # What failed at its first try is to be seen, not to be tried again.
    # What holds in its time where a few rows are drawn has many times as many to play.
    limit = 2 * gate.limit
    whole = replace(
        gate, commands=(*before, *gate.commands), run=LONG_RUN, variables=EVERY_ROW, failed_again=(), limit=limit
    )
    return replace(gate, long_form=whole)


def on_shared_nodes(layer: str) -> Gate:
    """The gate of a role's scenario; the later layers find what the gate ``site`` has brought up in one run."""
    needs = ("sandbox",) if layer == FIRST_LAYER else ("site",)
    commands = molecule(layer, bases=("config", "short"))
    return Gate(
        f"molecule-{layer}",
        "converge, verify",
        commands,
        needs=needs,
        limit=1800,
        lane=NODES,
        run=NODES_RUN,
        programs=NODE_PROGRAMS,
        is_root=True,
    )


def layers_with_every_step() -> Gate:
    """All layers with what Molecule's own sequence has, from virgin nodes on: each finds what the one before left."""
    scenarios = (FIRST_LAYER, *LATER_LAYERS)
    roles = tuple(f"roles/{layer}" for layer in scenarios)
    homes = subjects("host", "driver", "containers", "fabric", "venv", "flags", "verify", "packages")
    return Gate(
        "layers",
        "each layer alone, from virgin nodes on: check, converge, idempotence, verify, every row",
        (VIRGIN_AGAIN, *(command for layer in scenarios for command in molecule(layer))),
        needs=("sandbox",),
        limit=3600,
        lane=NODES,
        run=LONG_RUN,
        programs=NODE_PROGRAMS,
        is_root=True,
        covers=(*roles, *homes, *(f"molecule/{layer}" for layer in scenarios)),
        variables=EVERY_ROW,
    )


def of_many_tests(
    name: str, checks: str, folders: tuple[str, ...], limit: float, covers: tuple[str, ...] = (), *, run: str = FIRST
) -> Gate:
    """The gate of folders of tests (pytest's own words), of which only what failed is worth a second run."""
    cache = str(ROOT / "build" / "pytest-cache" / name)
    tests = ("python", "-m", "pytest", "-q", "-o", f"cache_dir={cache}", *folders)
    again = (*tests, "--last-failed", "--last-failed-no-failures", "none")
    commands = (("rm", "-rf", cache), (*tests, "--durations=15"))
    return with_long_form(Gate(name, checks, commands, limit=limit, failed_again=(again,), run=run, covers=covers))


def schedules(seeds: int, limit: float) -> Gate:
    """The gate of random schedules of faults."""
    command = ("python", "-m", "tests.simulate_supervisors", "--seeds", str(seeds))
    checks = f"{seeds:,} random schedules of faults for supervisors"
    covers = ("src/gaudi3_scale/supervisor", "tests/simulate_supervisors.py")
    return Gate("schedules", checks, (command,), limit=limit, run=NODES_RUN, covers=covers)


def of_nodes(gate: Gate) -> Gate:
    """The same for a gate that is played on the shared nodes."""
    return replace(gate, lane=NODES, programs=NODE_PROGRAMS, is_root=True)


def of_tarball(name: str, checks: str, program: str, *, run: str = FIRST) -> Gate:
    """The gate of a program that asks the tarball and needs no nodes: whichever lane has time takes it."""
    return Gate(name, checks, (("python", "-m", program),), after=("artifact",), lane=ANY_LANE, run=run)


GATES = (
    Gate("ruff", "lint and format of the Python files", (("ruff", "check", "."), ("ruff", "format", "--check", "."))),
    # Early, since both other lanes wait for it.
    Gate("artifact", "the tarball holds what it must, and installs", ((*PYTEST, "tests/artifact"),)),
    Gate("mypy", "strict types of all but tests", (("mypy",),)),
    Gate(
        "oldest-python", "what runs on a node runs on Python 3.9", (("vermin", "-t=3.9-", "--violations", "plugins"),)
    ),
    # Beside the units, which are the longest of all.
    Gate(
        "contracts",
        "defaults, documents, versions and sources agree",
        ((*PYTEST, "tests/contracts"),),
        lane=ANY_LANE,
    ),
    # The units in two halves, so that they run beside each other; the long run has all of them in one.
    replace(
        of_many_tests(
            "unit",
            "the core and the simulator",
            ("tests/unit", *(f"--ignore={folder}" for folder in CONTROLLER_TESTS)),
            2700,
        ),
        long_form=of_many_tests(
            "unit",
            "the core, the modules, the controller's code and the simulator",
            ("tests/unit",),
            2700,
            (
                "tests/unit/plugins/bad_input",
                "tests/unit/gates",
                *subjects("follow", "job", "driver", "bundle", "venv"),
                "plugins/plugin_utils/_controller",
            ),
        ).long_form,
    ),
    replace(
        of_many_tests("unit-controller", "the modules' shells and the controller's code", CONTROLLER_TESTS, 2700),
        lane=ANY_LANE,
    ),
    Gate("changelog", "fragments and releases", (("antsibull-changelog", "lint"),)),
    Gate("licenses", "each file says whose it is and under what", (("reuse", "lint", "--quiet"),)),
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
    Gate("spelling", "American English without slips, in code and pages", (("codespell",),)),
    Gate("shellcheck", "the shell scripts", (("shellcheck", "scripts/setup", ".ci/run"),), programs=("shellcheck",)),
    of_tarball("ansible-lint", "profile production, nothing skipped", "tests.gates.lint"),
    of_tarball("galaxy", "what Galaxy's importer says of the tarball", "tests.gates.galaxy", run=NODES_RUN),
    of_tarball("sanity", "ansible-test sanity on what is shipped", "tests.gates.sanity", run=NODES_RUN),
    Gate(
        "handbook",
        "the documentation as a site, no link of it dead",
        (("env", "PYTHONPATH=.collections", "python", "-m", "scripts.build_site"),),
        run=NODES_RUN,
    ),
    of_many_tests(
        "node-library",
        "trainings, checkpoints, supervisors, studies on the CPU",
        ("tests/node_library",),
        2700,
        ("src/gaudi3_scale", "tests/node_library"),
        run=NODES_RUN,
    ),
    Gate(
        "vllm",
        "a real vLLM on the processor: our options, client, metrics, and what the simulated one stands on",
        ((*PYTEST, "tests/real_vllm"),),
        # It installs 2 GB first.
        limit=3600,
        run=LONG_RUN,
        processor=("avx2",),
        covers=(
            "requirements/serving-test.txt",
            "tests/vllm_server.py",
            "tests/real_vllm",
            "sandbox/engine",
            "plugins/module_utils/_serving",
            "plugins/module_utils/_exporter/server_metrics.py",
        ),
        variables=EVERY_ROW,
    ),
    replace(schedules(400, 1800), long_form=replace(schedules(50_000, 10800), run=LONG_RUN)),
    of_nodes(
        Gate(
            "sandbox",
            "two fresh nodes, simulated cards, the package repository",
            (
                removed(TEST_SANDBOX),
                ("python", "-m", "sandbox", "up", "--name", TEST_SANDBOX),
            ),
            limit=1800,
            undo=removed(TEST_SANDBOX),
        )
    ),
    on_shared_nodes(FIRST_LAYER),
    of_nodes(
        Gate(
            "site",
            "the installed collection, twice on virgin nodes",
            molecule("site"),
            needs=("sandbox", "artifact"),
            limit=2400,
        )
    ),
    of_nodes(
        Gate(
            "golden",
            "a node's disk kept: scenarios that ask nothing about installing begin with it",
            (CAPTURE,),
            needs=("site",),
        )
    ),
    on_nodes(
        "batch",
        "one node searches the batch size, the other verifies it",
        1200,
        subjects("batch"),
        run=FIRST,
    ),
    on_nodes(
        "programs",
        "users' own programs that lose a rank, by the installed collection",
        1800,
        ("tests/programs", "src/gaudi3_scale/supervisor", *subjects("training", "launch")),
        run=FIRST,
    ),
    *(on_shared_nodes(layer) for layer in LATER_LAYERS),
    layers_with_every_step(),
    on_nodes(
        "training",
        "compare, tune, launch, go on, fail and stop over both nodes",
        3600,
        (
            "src/gaudi3_scale/tune",
            "src/gaudi3_scale/cost",
            "plugins/module_utils/_job/binding",
            *subjects("compare", "tune", "cost"),
        ),
    ),
    on_nodes(
        "own-programs",
        "users' own programs: a disk each, requirements, PYTHONPATH, ports, refusals",
        1800,
        ("tests/programs", "src/gaudi3_scale/checkpoints", *subjects("launch", "venv", "job")),
    ),
    on_nodes(
        "firmware",
        "cards' firmware shown, refused, written, cut off and taken up again",
        1200,
        subjects("firmware", "rollout"),
    ),
    on_nodes("faults", "bad input: one sentence, nothing touched", 1800, subjects("preflight", "verify")),
    on_nodes(
        "storage",
        "disks that keep a rate: mounted, measured by a real fio, judged against a training",
        1200,
        subjects("storage"),
    ),
    on_nodes(
        "monitoring",
        "nodes tell their metrics to one reader, over TLS, also where a card or hl-smi fails",
        1800,
        ("extensions", *subjects("monitoring", "exporter", "cloudwatch", "power", "quarantine")),
    ),
    on_nodes(
        "slurm",
        "a real Slurm: our drains are lifted, others stay, tasks get the flags",
        1200,
        ("sandbox/slurm.py", "plugins/module_utils/_upgrade/drain", *subjects("slurm")),
    ),
    on_nodes(
        "build-image",
        "images by a real podman and a real registry: one digest, torch kept, signed, refused",
        1200,
        ("tests/image_base.py", "tests/base_image_on_node.py", *subjects("image")),
    ),
    of_nodes(Gate("teardown", "the tests' nodes are removed", (removed(TEST_SANDBOX),), is_last=True)),
    # Whichever lane has time takes the next one: first those that begin virgin, then from the golden image on.
    on_own_nodes(
        "upgrade",
        "three nodes up and down with faults injected: back, resumed, named",
        3600,
        ("sandbox/repository/upstream_driver.py", *subjects("upgrade", "driver", "rollout")),
        begins_virgin=True,
    ),
    on_own_nodes(
        "bundle",
        "a bundle built, damaged, mended, served, and installed from without any other network",
        1800,
        subjects("bundle", "packages"),
        begins_virgin=True,
    ),
    Gate(
        "rhel",
        "real dnf, rpm and DKMS on a node that stands in for RHEL 9",
        (("env", f"GAUDI_RHEL_SANDBOX={TEST_SANDBOX}-rhel", *PYTEST, "tests/rhel"),),
        after=("sandbox",),
        limit=1200,
        lane=ANY_LANE,
        undo=removed(f"{TEST_SANDBOX}-rhel"),
        run=NODES_RUN,
        programs=NODE_PROGRAMS,
        is_root=True,
    ),
    Gate(
        "versions",
        "site.yml and a job by the oldest ansible-core that is claimed, or by the newest, in turn",
        (
            removed(f"{TEST_SANDBOX}-versions"),
            ("python", "-m", "sandbox", "up", "--name", f"{TEST_SANDBOX}-versions", "--golden", TEST_SANDBOX),
            ("env", f"GAUDI_SANDBOX={TEST_SANDBOX}-versions", *PYTEST, "tests/versions"),
            removed(f"{TEST_SANDBOX}-versions"),
        ),
        after=("sandbox", "golden"),
        limit=2400,
        lane=ANY_LANE,
        undo=removed(f"{TEST_SANDBOX}-versions"),
        run=NODES_RUN,
        programs=NODE_PROGRAMS,
        is_root=True,
    ),
    on_own_nodes(
        "surviving",
        "jobs lose ranks, nodes, the network and their controller, and go on",
        3600,
        ("src/gaudi3_scale/supervisor", "src/gaudi3_scale/checkpoints", *subjects("launch", "follow", "monitoring")),
    ),
    on_own_nodes(
        "controller",
        "surveys' answers, slices, cancelled jobs, an execution environment, a node that an alert takes out",
        3600,
        ("meta", "playbooks", "extensions", *subjects("controller")),
    ),
    on_own_nodes(
        "attacks",
        "an account that may run jobs attacks root's files past and through its job",
        2400,
        subjects("node", "job", "launch"),
    ),
    on_own_nodes(
        "qualify",
        "five nodes, a bad thing each: what is bad is found and named, and nothing else; no limit of time is a fault",
        3600,
        subjects("qualify"),
    ),
    on_own_nodes(
        "engines",
        "jobs through a real Slurm and a real Open MPI over three nodes",
        3600,
        ("sandbox/slurm.py", "sandbox/open_mpi.py", *subjects("training", "launch", "slurm")),
    ),
    on_own_nodes(
        "images",
        "jobs in containers from a real registry lose a rank and a node; images that do not fit are one message",
        1200,
        ("tests/site_images.py", "plugins/module_utils/_job/container", *subjects("containers", "launch")),
    ),
    on_own_nodes(
        "serving",
        "a model that was trained, exported and published here answers; kills, damage and what is taken",
        1200,
        ("sandbox/engine", *subjects("serving", "model", "export")),
    ),
    on_own_nodes(
        "quickstart",
        "the README's and the first day's commands, typed from an empty directory, and what they print",
        1800,
    ),
    on_own_nodes(
        "peers",
        "a hostile machine floods, replays, forges and answers with code beside a running job",
        1800,
        ("src/gaudi3_scale/supervisor", "plugins/plugin_utils/_node_answer.py", "plugins/plugin_utils/_on_nodes.py"),
    ),
)

# What brings the nodes to where a gate begins that is chosen alone: the golden image as far as there is one, and what
# this checkout has other than that by one run of site.yml.
BRING_NODES = of_nodes(
    Gate(
        "nodes",
        "two nodes as site.yml leaves them, from the golden image where there is one",
        (
            removed(TEST_SANDBOX),
            ("python", "-m", "sandbox", "up", "--name", TEST_SANDBOX, "--golden", TEST_SANDBOX),
            (
                "env",
                f"GAUDI_SANDBOX={TEST_SANDBOX}",
                "ansible-playbook",
                "-i",
                "inventories/sandbox",
                "playbooks/site.yml",
            ),
            CAPTURE,
        ),
        limit=2400,
        undo=removed(TEST_SANDBOX),
    )
)
