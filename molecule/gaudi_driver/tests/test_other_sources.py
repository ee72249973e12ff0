# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node whose installer's script has the repository in a file of its own: taken over, working, and given back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("sources")

OURS = "/etc/apt/sources.list.d/gaudi3_scale-repository.sources"
SCRIPTS = "/etc/apt/sources.list.d/habanalabs.list"
OTHER = "# by hand\n"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """node1 with the line of a set-up script beside our file, which no apt reads together."""
    found = hosts()["node1"]
    uri, suite = (found.check_output(f"sed -n 's/^{name}: //p' {OURS}").strip() for name in ("URIs", "Suites"))
    entry = f"deb [signed-by=/etc/apt/keyrings/habanalabs.gpg] {uri}/ {suite} main"
    found.check_output(f"printf '%s\\n' '{OTHER.strip()}' '{entry}' > {SCRIPTS} && chmod 0640 {SCRIPTS}")
    yield found
    found.run(f"rm -f {SCRIPTS}")
    driver(tmp_path_factory.mktemp("after"))


def driver(directory: Path, arguments: str = "") -> tuple[dict[str, int], str]:
    done = run(directory, "driver", arguments=f"--limit node1 {arguments}")
    said = done.stdout.read()
    assert done.status == "successful", said[-4000:]
    return dict(done.stats["changed"]), said


def module(directory: Path, arguments: str = "", **options: Any) -> Any:
    """One call of the module by itself, as an ad-hoc command makes it."""
    task = {"gaudi3.scale.package_repository": options}
    play = {"hosts": "node1", "become": True, "gather_facts": False, "tasks": [task]}
    done = run(directory, [play], arguments=arguments)
    assert done.status == "successful", done.stdout.read()[-4000:]
    return next(event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_ok")


def test_both_together_stop_every_apt(node: Host) -> None:
    assert "Conflicting values set for option Signed-By" in node.run("apt-get -q update").stderr


def test_check_mode_shows_the_line_and_touches_nothing(node: Host, tmp_path: Path) -> None:
    before = node.check_output(f"sha256sum {SCRIPTS}")
    changed, said = driver(tmp_path, "--check --diff")
    assert changed == {"node1": 1}
    assert "+# gaudi3_scale-repository: deb [signed-by=" in said
    assert node.check_output(f"sha256sum {SCRIPTS}") == before


def test_the_line_is_switched_off_and_every_apt_works(node: Host, tmp_path: Path) -> None:
    changed, said = driver(tmp_path)
    assert changed == {"node1": 1}
    assert "was commented out, since there can be only one" in " ".join(said.split())
    text = node.file(SCRIPTS).content_string
    assert text.startswith(f"{OTHER}# gaudi3_scale-repository: deb [signed-by=")
    assert node.file(SCRIPTS).mode == 0o640
    node.check_output("apt-get -q update -o APT::Update::Error-Mode=any")
    node.check_output("apt-get -q --simulate install lsof")


@pytest.mark.usefixtures("node")
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    assert driver(tmp_path)[0] == {}


def test_removed_the_node_has_its_line_again_and_apt_works(node: Host, tmp_path: Path) -> None:
    assert module(tmp_path, "--check", state="absent")["changed"]
    assert node.file(OURS).exists
    assert module(tmp_path, state="absent")["changed"]
    assert not node.file(OURS).exists
    assert node.file(SCRIPTS).content_string.startswith(f"{OTHER}deb [signed-by=")
    node.check_output("apt-get -q --simulate install lsof")
    assert not module(tmp_path, state="absent")["changed"]
