# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the README and of the first day, read from the pages and typed word for word, and what they print.

What reaches the internet is left out: the collection's tarball is installed in its place.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.contracts.pages import text_of
from tests.sandbox_nodes import hosts
from tests.terminal import difference, golden

from .conftest import NAMES, ROOT, Operator, Shown, put_hosts_in

GOLDEN = Path(__file__).parent / "golden"
FROM_THE_INTERNET = ("ansible-galaxy collection install git+", "pip install ")
# Lines that a run of two nodes may print: who reads more of them than these has stopped reading.
MOST_LINES = {"check": 140, "second": 160, "refused": 65, "off": 155}


def blocks(page: str) -> list[list[str]]:
    """The commands of each console block of a page."""
    found = re.findall(r"```console\n(.*?)```", text_of(page), re.DOTALL)
    # What follows a # is said to the reader.
    return [[re.sub(r"\s+# .*", "", line) for line in block.splitlines()] for block in found]


INSTALLATION = blocks("README.md")[0]
PREPARATION, *FIRST_DAY = blocks("docs/first_day.md")


@dataclass(frozen=True)
class Typed:
    """What the README's four commands printed."""

    check: Shown
    second: Shown


@pytest.fixture(scope="module")
def typed(operator: Operator) -> Typed:
    from_the_internet, copy, check, site = INSTALLATION
    assert from_the_internet.startswith(FROM_THE_INTERNET)
    assert operator.types(copy).code == 0
    put_hosts_in(operator.home / "bare_metal")
    # As a golden image of this or another checkout left the nodes, or virgin: what a first run prints is the scenario
    # site's to ask, and here both runs find everything done.
    assert operator.types(site).code == 0
    return Typed(operator.types(check), operator.types(site))


def test_the_readme_s_commands_end_in_a_verdict(typed: Typed) -> None:
    for shown in (typed.check, typed.second):
        assert shown.code == 0, shown.screen[-4000:]
        for name in NAMES.values():
            assert re.search(rf"^\s*{name}\s+ok\b", shown.screen, re.MULTILINE), shown.screen[-4000:]


@pytest.fixture(scope="module")
def site(operator: Operator, typed: Typed) -> str:
    """The directory that the first day begins with; its commands are typed in it."""
    assert typed.second.code == 0
    script = "\n".join(line for line in PREPARATION if not line.startswith(FROM_THE_INTERNET))
    prepared = operator.types(f"cd {ROOT}\n{script.replace('collection install -p', 'collection install --force -p')}")
    assert prepared.code == 0, prepared.screen
    put_hosts_in(operator.home / "site" / "my_cluster")
    for host in hosts().values():
        host.check_output("mkdir -p /data/text && cp /usr/share/common-licenses/* /data/text/")
    return "site"


def test_the_first_day_s_commands_succeed_as_they_stand(operator: Operator, site: str) -> None:
    for (command,) in FIRST_DAY:
        shown = operator.types(command, site)
        assert shown.code == 0, f"{command}\n{shown.screen[-4000:]}"


# --- What a run prints


@pytest.fixture(scope="module")
def refused(operator: Operator, typed: Typed) -> Shown:
    assert typed.second.code == 0
    return operator.types(f"{INSTALLATION[3]} -e gaudi_release=1.24.9")


@pytest.fixture(scope="module")
def one_off(operator: Operator, typed: Typed) -> Shown:
    """One of the two nodes does not answer: nothing listens at its port."""
    assert typed.second.code == 0
    inventory = operator.home / "one_off"
    shutil.copytree(operator.home / "bare_metal", inventory)
    known = yaml.safe_load((inventory / "hosts.yml").read_text(encoding="utf-8"))
    known["gaudi"]["hosts"][NAMES["node2"]]["ansible_port"] = 9
    (inventory / "hosts.yml").write_text(yaml.safe_dump(known, sort_keys=False), encoding="utf-8")
    return operator.types(INSTALLATION[3].replace("bare_metal", inventory.name))


def test_refused_nodes_still_end_in_a_table_with_the_reason(refused: Shown) -> None:
    assert refused.code != 0
    assert "did you mean 1.24.2?" in refused.screen
    assert "Verdict" in refused.screen
    assert "Report: " in refused.screen


def test_a_node_that_is_off_has_its_line_and_the_other_is_ok(one_off: Shown) -> None:
    assert one_off.code != 0
    assert re.search(rf"^\s*{NAMES['node1']}\s+ok\b", one_off.screen, re.MULTILINE), one_off.screen[-4000:]
    assert re.search(rf"^\s*{NAMES['node2']}\s+FAILED", one_off.screen, re.MULTILINE), one_off.screen[-4000:]


@pytest.mark.parametrize("run", MOST_LINES)
def test_a_run_prints_what_the_golden_file_has(
    typed: Typed, refused: Shown, one_off: Shown, operator: Operator, run: str
) -> None:
    shown = {"check": typed.check, "second": typed.second, "refused": refused, "off": one_off}[run]
    kept = GOLDEN / f"{run}.txt"
    text = golden(shown.screen, {str(operator.home): "~"})
    now = ROOT / "build" / "quickstart" / kept.name
    now.parent.mkdir(parents=True, exist_ok=True)
    now.write_text(text, encoding="utf-8")
    assert difference(text, kept) == "", f"where that is right, copy {now} to {kept}"
    assert len(shown.lines) <= MOST_LINES[run], len(shown.lines)
