# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real libfabric, built on one node, brought to the other, and talked through. The network card is in sysfs alone.

The sources are the upstream archive of Debian's source package: there are no SynapseAI headers, so what is built has no
Gaudi Direct, which has to be asked for.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, hosts, run

# Compiling takes minutes. What is decided, and what is left after each interruption, is in the unit tests.
pytestmark = pytest.mark.long
PREFIX = "/opt/gaudi3_scale/libfabric"
SUITE, VERSION = "trixie", "2.1.0"
# deb822 for sources of a newer suite, whose lists and packages nothing else of the node ever sees.
FETCH = f"""
set -e
mkdir -p /root/src/lists/partial
cd /root/src
mirror=$(apt-get indextargets --format '$(SITE)' 'Label: Debian' | head -n 1)
printf 'Types: deb-src\\nURIs: %s\\nSuites: {SUITE}\\nComponents: main\\nSigned-By: %s\\n' \
  "$mirror" /usr/share/keyrings/debian-archive-keyring.gpg > debian.sources
set -- -q -o Dir::Etc::sourcelist=$PWD/debian.sources -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/lists
apt-get "$@" update >&2
apt-get "$@" source --print-uris libfabric | tr -d "'" | while read -r uri file _size digest; do
  case $file in
    *orig.tar.xz) /usr/lib/apt/apt-helper download-file "$uri" "$file" "$digest" >&2; echo "$PWD/$file" ;;
  esac
done
"""
LOADER = "/etc/ld.so.conf.d/00-gaudi3-scale-libfabric.conf"
TRACES = f"ls -d {PREFIX}* {LOADER} /var/lib/gaudi3_scale/libfabric-build || true"


@dataclass(frozen=True)
class Outcome:
    """How a run of the fabric layer ended, by host."""

    changed: dict[str, int]
    results: dict[str, dict[str, Any]]
    said: dict[str, str]


def fabric(directory: Path, *, ok: bool = True, **variables: object) -> Outcome:
    done = run(directory, "fabric", gaudi_fabric_provider="roce", **variables)
    results: dict[str, dict[str, Any]] = {}
    said: dict[str, str] = {}
    for event in done.events:
        data = event.get("event_data", {})
        if data.get("task_action") == "gaudi3.scale.hpu_host_nics" and "res" in data:
            results[data["host"]] = data["res"]
        if event["event"] == "runner_on_failed":
            said[data["host"]] = data["res"]["msg"]
    assert (done.rc == 0) is ok, done.stdout.read()[-4000:]
    return Outcome(done.stats["changed"], results, said)


@pytest.fixture(scope="module")
def nodes() -> Iterator[dict[str, Host]]:
    found = hosts()
    with fault("node1", "host_nic=roce"), fault("node2", "host_nic=roce"):
        yield found
    for host in found.values():
        host.check_output(f"rm -rf {PREFIX} {PREFIX}-* {LOADER} /root/src; ldconfig")


@pytest.fixture(scope="module", autouse=True)
def ports_again(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The cards' ports carry the traffic in the scenarios after this one."""
    yield
    assert run(tmp_path_factory.mktemp("fabric"), "fabric").rc == 0


@pytest.fixture(scope="module")
def library(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The variables that name libfabric's sources, as a file of the controller."""
    directory = tmp_path_factory.mktemp("libfabric")
    archive = directory / "libfabric.tar.xz"
    fetched = nodes["node1"].check_output(FETCH).split()[-1]
    archive.write_bytes(nodes["node1"].file(fetched).content)
    return {
        "gaudi_fabric_libfabric_archive": str(archive),
        "gaudi_fabric_libfabric_checksum": f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}",
        "gaudi_fabric_libfabric_version": VERSION,
        "gaudi_fabric_libfabric_gaudi_direct": False,
        # It only has to run, and two cores compile it.
        "gaudi_fabric_libfabric_configure": ["CFLAGS=-O0"],
        "gaudi_fabric_libfabric_directory": str(directory / "built"),
    }


def traces(nodes: dict[str, Host]) -> set[str]:
    return {f"{name} {line}" for name, host in nodes.items() for line in host.run(TRACES).stdout.split()}


def test_a_wrong_checksum_is_refused_by_all_and_built_by_none(
    nodes: dict[str, Host], library: dict[str, object], tmp_path: Path
) -> None:
    wrong = f"sha256:{'0' * 64}"
    said = fabric(tmp_path, ok=False, **{**library, "gaudi_fabric_libfabric_checksum": wrong}).said
    assert len(said) == 2 and all("nothing was unpacked" in message for message in said.values()), said
    assert sum("because its build failed on" in message for message in said.values()) == 1
    assert traces(nodes) == set()


def test_a_build_that_fails_leaves_nothing_and_says_why(
    nodes: dict[str, Host], library: dict[str, object], tmp_path: Path
) -> None:
    configure = b"#!/bin/sh\necho 'configure: error: no acceptable C compiler found in $PATH' >&2\nexit 1\n"
    broken = tmp_path / "broken.tar.gz"
    with tarfile.open(broken, "w:gz") as made:
        for name, text in (("configure", configure), ("configure.ac", b"AC_INIT([libfabric], [2.1.0], [x])\n")):
            member = tarfile.TarInfo(f"libfabric/{name}")
            member.size = len(text)
            made.addfile(member, io.BytesIO(text))
    digest = hashlib.sha256(broken.read_bytes()).hexdigest()
    names = {
        "gaudi_fabric_libfabric_archive": str(broken),
        "gaudi_fabric_libfabric_checksum": f"sha256:{digest}",
    }
    said = fabric(tmp_path, ok=False, **{**library, **names}).said
    assert all("no acceptable C compiler found" in message and "\n" not in message for message in said.values()), said
    assert traces(nodes) == set()


def test_built_once_brought_to_the_other_and_nothing_the_second_time(
    nodes: dict[str, Host], library: dict[str, object], tmp_path: Path
) -> None:
    first = fabric(tmp_path, **library)
    for name, result in first.results.items():
        assert result["libfabric"]["installed"] and result["libfabric"]["gaudi_direct"] is False
        assert any("it has no Gaudi Direct" in warning for warning in result["warnings"])
        assert nodes[name].check_output(f"{PREFIX}/bin/fi_info --version").splitlines()[1] == f"libfabric: {VERSION}"
        # The loader takes it before the distribution's.
        assert f"=> {PREFIX}/lib/libfabric.so.1" in nodes[name].check_output("ldconfig -p")
    # One node compiled: the other one has no log of a build.
    logs = [host.file("/var/log/gaudi3_scale/libfabric-build.log") for host in nodes.values()]
    assert sum(log.exists and "libfabric_la" in log.content_string for log in logs) == 1
    second = fabric(tmp_path, **library)
    assert second.changed == {}
    assert all(not result["changed"] for result in second.results.values())


@pytest.mark.parametrize("endpoint", ["msg", "rdm"])
def test_both_nodes_talk_through_it(nodes: dict[str, Host], endpoint: str) -> None:
    ping = f"timeout 60 {PREFIX}/bin/fi_pingpong -p tcp -e {endpoint} -S 1024 -I 100"
    server = nodes["node1"]
    server.check_output(f"systemd-run --unit=fi-pingpong-{endpoint} --collect {ping}")
    # It prints nothing before a client has come; the port of fi_pingpong(1) shows that it listens.
    server.check_output("timeout 30 sh -c 'until ss -Hltn sport = :47592 | grep -q .; do sleep 0.1; done'")
    printed = nodes["node2"].check_output(f"{ping} node1")
    size, sent, acknowledged = printed.splitlines()[-1].split()[:3]
    assert (size, sent, acknowledged) == ("1k", "100", "=100")


def test_a_node_that_lost_it_gets_it_again_without_a_build(
    nodes: dict[str, Host], library: dict[str, object], tmp_path: Path
) -> None:
    nodes["node2"].check_output(f"rm -rf {PREFIX} {PREFIX}-*")
    before = [host.file("/var/log/gaudi3_scale/libfabric-build.log") for host in nodes.values()]
    times = [log.mtime for log in before if log.exists]
    outcome = fabric(tmp_path, **library)
    assert outcome.changed.keys() == {"node2"}
    assert nodes["node2"].check_output(f"{PREFIX}/bin/fi_info -l -p tcp")
    assert [log.mtime for log in before if log.exists] == times
