# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3.scale.site`` from the built and installed collection, through ansible-runner, twice on virgin nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
import yaml

from benchmarks.playbook_events import PlayCount, count_plays
from sandbox.repository.wheels import INDEX
from tests.terminal import difference, golden, lines_of
from tests.touched import TOUCHED

ROOT = Path(__file__).resolve().parents[3]
SANDBOX = os.environ["GAUDI_SANDBOX"]
STAGE = ROOT / ".config" / "molecule" / "stage.yml"
STAGED = ROOT / "molecule" / "gaudi_containers"
# What a run that finds everything done may cost: this number is what limits a big fleet (see docs/developing.md).
MOST_REMOTE_TASKS = 15
# Lines that a run of two nodes may print; check mode shows each file that it would change.
MOST_LINES = {"check": 650, "first": 170, "second": 160}
GOLDEN = Path(__file__).parent / "golden" / "first.txt"
# Those of which a virgin node has nothing: host, driver, container runtime, fabric, training stack, flags.
LAYERS = 6


@dataclass(frozen=True)
class SiteRun:
    """What ansible-runner reported of one run."""

    status: str
    stats: dict[str, dict[str, int]]
    plays: list[PlayCount]
    screen: str
    outcome: dict[str, Any]

    @property
    def output(self) -> str:
        """The end of what it printed, for the message of a test."""
        return self.screen[-8000:]

    @property
    def remote_per_host(self) -> int:
        return sum(play.remote_per_host for play in self.plays)


def sandbox(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "sandbox", *arguments, "--name", SANDBOX], cwd=ROOT, check=True)


def an_operator_was_there_before() -> None:
    """Files of their own, which gaudi_containers's scenario finds kept afterwards."""
    stage = {"MOLECULE_PROJECT_DIRECTORY": str(ROOT), "MOLECULE_SCENARIO_DIRECTORY": str(STAGED)}
    command = ["ansible-playbook", "--inventory", str(ROOT / "inventories" / "sandbox"), str(STAGE)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **stage}, check=True, capture_output=True)


@pytest.fixture(scope="module")
def run_site(collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., SiteRun]:
    def run(arguments: str | None = None) -> SiteRun:
        # The project is an empty directory: all that runs comes from the installed collection.
        result = ansible_runner.run(
            private_data_dir=str(tmp_path_factory.mktemp("runner")),
            playbook="gaudi3.scale.site",
            cmdline=arguments,
            inventory=str(ROOT / "inventories" / "sandbox"),
            # A site's inventory names none, and Ansible finds it.
            extravars={"ansible_python_interpreter": "auto_silent"},
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(collections),
                "ANSIBLE_CONFIG": str(collections / "ansible_collections" / "gaudi3" / "scale" / "ansible.cfg"),
                "GAUDI_SANDBOX": SANDBOX,
                "PATH": os.environ["PATH"],
            },
            quiet=True,
        )
        events = list(result.events)
        screen = result.stdout.read()
        return SiteRun(result.status, nodes_in(result.stats), count_plays(events), screen, outcome_of(events))

    return run


def outcome_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What AWX would hand to the next job of a workflow."""
    ends = [event["event_data"] for event in events if event["event"] == "playbook_on_stats"]
    return ends[-1].get("artifact_data", {}).get("gaudi_outcome_site", {}) if ends else {}


def nodes_in(stats: dict[str, Any]) -> dict[str, dict[str, int]]:
    """ansible-runner's per-counter numbers, by host."""
    hosts = {host for counter in stats.values() for host in counter}
    return {host: {name: counter.get(host, 0) for name, counter in stats.items()} for host in hosts}


def touched(node: str) -> list[str]:
    """What is newer on the node than its stage."""
    command = ["podman", "exec", f"{SANDBOX}-{node}", "sh", "-c", TOUCHED]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def virgin() -> tuple[str, str]:
    """The nodes, where nothing was prepared but what an operator had before."""
    sandbox("reset")
    an_operator_was_there_before()
    return ("node1", "node2")


@pytest.fixture(scope="module")
def foretold(virgin: tuple[str, str], run_site: Callable[..., SiteRun]) -> tuple[SiteRun, dict[str, list[str]]]:
    """The first command of a cautious operator, and what it has touched."""
    shown = run_site("--check --diff")
    return shown, {node: touched(node) for node in virgin}


@pytest.fixture(scope="module")
def first(foretold: tuple[SiteRun, dict[str, list[str]]], run_site: Callable[..., SiteRun]) -> SiteRun:
    assert foretold[0].stats
    return run_site()


@pytest.fixture(scope="module")
def second(first: SiteRun, run_site: Callable[..., SiteRun]) -> SiteRun:
    assert first.status == "successful"
    return run_site()


def test_check_mode_on_virgin_nodes_shows_each_layer_and_touches_nothing(
    foretold: tuple[SiteRun, dict[str, list[str]]], virgin: tuple[str, str]
) -> None:
    shown, since = foretold
    assert shown.status == "successful", shown.output
    assert since == {node: [] for node in virgin}
    assert {node: shown.stats[node]["changed"] >= LAYERS for node in virgin} == dict.fromkeys(virgin, True), shown.stats


def test_first_run_succeeds_on_virgin_nodes(first: SiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert first.status == "successful", first.output
    with capsys.disabled():
        print(f"first run: {first.remote_per_host} remote task executions per host")


def test_second_run_changes_nothing(second: SiteRun) -> None:
    assert second.status == "successful", second.output
    changed = {host: numbers["changed"] for host, numbers in second.stats.items() if numbers["changed"]}
    assert changed == {}, second.output


def test_runs_print_few_lines(
    foretold: tuple[SiteRun, dict[str, list[str]]], first: SiteRun, second: SiteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"check": foretold[0], "first": first, "second": second}
    printed = {name: len(lines_of(run.screen)) for name, run in runs.items()}
    with capsys.disabled():
        print(f"lines printed: {printed}")
    assert {name for name, lines in printed.items() if lines > MOST_LINES[name]} == set(), printed


def test_the_first_run_prints_what_the_golden_file_has(first: SiteRun, collections: Path) -> None:
    started_in = str(Path(first.outcome["report"]).parents[1])
    shown = golden(first.screen, {str(collections): "~", started_in: "~"})
    now = ROOT / "build" / "site" / GOLDEN.name
    now.parent.mkdir(parents=True, exist_ok=True)
    now.write_text(shown, encoding="utf-8")
    assert difference(shown, GOLDEN) == "", f"where that is right, copy {now} to {GOLDEN}"


def test_second_run_costs_few_remote_tasks(second: SiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    costs = {play.name: play.remote_per_host for play in second.plays}
    with capsys.disabled():
        print(f"second run: {second.remote_per_host} remote task executions per host: {costs}")
    assert second.remote_per_host <= MOST_REMOTE_TASKS, costs


def test_the_next_job_of_a_workflow_gets_the_nodes_that_are_well(second: SiteRun) -> None:
    assert (second.outcome["verdict"], second.outcome["ok_nodes"]) == ("ok", ["node1", "node2"])
    assert f"Report: {second.outcome['report']}" in second.output
    assert Path(second.outcome["report"]).is_file()


def test_both_runs_reached_both_nodes(first: SiteRun, second: SiteRun) -> None:
    for run in (first, second):
        assert {"node1", "node2"} <= set(run.stats)


@pytest.fixture(scope="module")
def asked_of_the_repository(first: SiteRun) -> str:
    """The package repository's access log of its whole life."""
    assert first.status == "successful"
    logs = subprocess.run(["podman", "logs", f"{SANDBOX}-repository"], check=True, capture_output=True, text=True)
    return logs.stdout + logs.stderr


def test_the_collection_brought_its_node_library(second: SiteRun) -> None:
    """No index has a wheel of ours; what the nodes have is of the version of the collection that installed them."""
    assert second.status == "successful"
    assert [file.name for file in INDEX.rglob("*") if "gaudi3" in file.name] == []
    about = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    code = "from importlib.metadata import version; print(version('gaudi3-scale'))"
    for node in ("node1", "node2"):
        command = ["podman", "exec", f"{SANDBOX}-{node}", "/opt/gaudi3_scale/venv/bin/python", "-c", code]
        reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert reported.strip() == about["version"]


def test_no_index_was_asked_for_its_name(asked_of_the_repository: str) -> None:
    assert "/simple/lightning/" in asked_of_the_repository
    assert [line for line in asked_of_the_repository.splitlines() if "/simple/gaudi" in line.lower()] == []


def test_a_run_over_one_node_ends_in_its_verdict(second: SiteRun, run_site: Callable[..., SiteRun]) -> None:
    assert second.status == "successful", second.output
    whole = run_site("--limit node2 --tags verify")
    assert whole.status == "successful", whole.output
    assert (whole.outcome["verdict"], whole.outcome["nodes"]) == ("ok", {"node2": "ok"})
