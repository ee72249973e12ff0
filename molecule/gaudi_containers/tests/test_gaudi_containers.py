# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the container runtime: the operator's files as their programs read them, and containers that count cards."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import ansible_runner
import pytest
import yaml
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

NODE = "node1"
FILE = "/etc/docker/daemon.json"
VENDORS_FILE = "/etc/habana-container-runtime/config.toml"
SPECIFICATION = "/etc/cdi/gaudi3-scale.json"
# Where backups of the operator's file are while a test has another one.
KEPT = "/var/lib/gaudi3_scale/kept_daemon_files"
RECORD = "/var/lib/gaudi3_scale/container_check.json"
IMAGE = "molecule-empty"
# The simulated hl-smi is a program of the node that reads the simulation's state.
RUN = (
    f"podman run --rm --network host -v /usr:/usr:ro -v /var/lib/gaudi_simulator:/var/lib/gaudi_simulator:ro %s {IMAGE}"
)
COUNT = "hl-smi -Q bus_id,module_id -f csv,noheader"


def daemon(host: Host) -> dict[str, object]:
    return json.loads(host.file(FILE).content_string)


def cards_in(host: Host, options: str) -> int:
    """How many cards hl-smi sees in a container that is started by hand."""
    said = host.check_output(f"{RUN % options} {COUNT}")
    return len(re.findall(r"^[0-9a-f]{4}:", said, re.MULTILINE))


@pytest.fixture(scope="module")
def image(host: Host) -> Iterator[None]:
    """An image of empty directories, made by hand."""
    links = "for l in bin sbin lib lib64; do [ -L /$l ] && ln -s usr/$l $l; done"
    make = f"d=$(mktemp -d) && cd $d && mkdir usr etc dev proc sys tmp run var && {links}"
    host.check_output(f"sh -c '{make}; tar -cf - . | podman import - {IMAGE}'")
    yield
    host.check_output(f"podman rmi --force {IMAGE}")


def test_the_runtime_is_registered_and_can_be_started(host: Host) -> None:
    program = daemon(host)["runtimes"]["habana"]["path"]
    assert stat.S_IMODE(host.file(program).mode) & 0o111


def test_what_the_operator_wrote_is_still_there(host: Host) -> None:
    settings = daemon(host)
    assert settings["log-driver"] == "journald"
    assert settings["insecure-registries"] == ["registry.example.org:5000"]
    assert settings["runtimes"]["other"] == {"path": "/usr/bin/other-runtime"}
    assert host.file(FILE).mode == 0o640


def test_docker_will_read_cdi(host: Host) -> None:
    assert daemon(host)["features"] == {"cdi": True}


def test_the_operators_file_is_kept_as_it_was(host: Host) -> None:
    (backup,) = host.check_output(f"ls {FILE}.*").splitlines()
    assert "habana" not in json.loads(host.file(backup).content_string)["runtimes"]


def test_the_vendors_file_is_the_operators_but_for_one_word(host: Host) -> None:
    assert host.file(VENDORS_FILE).content_string == (
        "# ours, since the spring\ndisable-require = false\n\n"
        '[habana-container-runtime]\nlog_level = "debug"  # quiet\n'
    )


def test_the_specification_names_nodes_that_are_there(host: Host) -> None:
    content = json.loads(host.file(SPECIFICATION).content_string)
    nodes = [node for device in content["devices"] for node in device["containerEdits"]["deviceNodes"]]
    assert {device["name"] for device in content["devices"]} == {*map(str, range(8)), "all"}
    assert all(host.file(node["hostPath"]).exists for node in nodes)
    assert [Path(node["path"]).name for node in content["devices"][0]["containerEdits"]["deviceNodes"]] == [
        "accel0",
        "accel_controlD0",
        "uverbs0",
    ]


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("options", "cards"),
    [
        ("--runtime habana -e HABANA_VISIBLE_DEVICES=all", 8),
        ("--runtime habana -e HABANA_VISIBLE_DEVICES=2,5", 2),
        ("--device habana.ai/gaudi=all", 8),
        ("--device habana.ai/gaudi=0", 1),
        ("--device habana.ai/gaudi=3 --device habana.ai/gaudi=4", 2),
    ],
)
def test_a_container_counts_the_cards_that_it_was_given(host: Host, options: str, cards: int) -> None:
    assert cards_in(host, options) == cards


@pytest.mark.usefixtures("image")
def test_a_container_that_asks_for_no_card_gets_none(host: Host) -> None:
    done = host.run(f"{RUN % '--runtime habana'} {COUNT}")
    assert (done.rc, done.stdout) == (1, "")
    assert "no AIPs available" in done.stderr


def test_the_role_has_counted_and_left_nothing(host: Host) -> None:
    assert json.loads(host.file(RECORD).content_string)["counts"] == {"podman": {"runtime": 8, "cdi": 8}}
    assert "gaudi3-scale-check" not in host.check_output("podman ps --all; podman images")


def test_a_device_that_is_missing_in_a_container_is_named(host: Host) -> None:
    specification = host.file(SPECIFICATION).content_string
    content = json.loads(specification)
    nodes = content["devices"][-1]["containerEdits"]["deviceNodes"]
    content["devices"][-1]["containerEdits"]["deviceNodes"] = [
        node for node in nodes if not node["path"].endswith("accel_controlD5")
    ]
    write = f"cat > {SPECIFICATION} <<'END'\n%s\nEND"
    try:
        host.check_output(write % json.dumps(content))
        arguments = "engines=podman cdi=true mounts=/var/lib/gaudi_simulator"
        result = host.ansible("gaudi3.scale.hpu_container_check", arguments, check=False, become=True)
    finally:
        host.check_output(write % specification.rstrip())
    assert result["counts"] == {"podman": {"runtime": 8, "cdi": 7}}
    assert re.search(r"--device habana\.ai/gaudi=all sees 7 of 8 cards \(\S+ is missing\)", result["msg"])


def containers(directory: Path, arguments: str = "") -> ansible_runner.Runner:
    """The layer on one node, with the options of this scenario."""
    options = yaml.safe_load((Path(__file__).parents[1] / "molecule.yml").read_text(encoding="utf-8"))
    given = options["provisioner"]["inventory"]["group_vars"]["gaudi"]
    return run(directory, "containers", arguments=f"--limit {NODE} {arguments}", **given)


@pytest.mark.in_turn
def test_docker_s_file_of_intel_s_recipe_is_taken_over(tmp_path: Path) -> None:
    """The recipe's whole file, written here after its description: our words are added, and its own stay."""
    host = hosts()[NODE]
    original = host.file(FILE).content_string.rstrip()
    recipes = {"runtimes": {"habana": {"path": "/usr/bin/habana-container-runtime", "runtimeArgs": []}}}
    write = f"cat > {FILE} <<'END'\n%s\nEND"
    host.check_output(f"mkdir -p {KEPT} && cp -a {FILE}.* {KEPT}")
    try:
        host.check_output(write % json.dumps(recipes, indent=2))
        for directory in ("check", "first", "second"):
            (tmp_path / directory).mkdir()
        shown = containers(tmp_path / "check", "--check --diff")
        assert shown.status == "successful" and FILE in shown.stdout.read()
        assert daemon(host) == recipes
        assert containers(tmp_path / "first").status == "successful"
        assert daemon(host)["runtimes"] == recipes["runtimes"]
        again = containers(tmp_path / "second")
        assert (again.status, again.stats["changed"]) == ("successful", {})
    finally:
        host.check_output(write % original)
        host.check_output(f"rm -f {FILE}.* && cp -a {KEPT}/. $(dirname {FILE}) && rm -r {KEPT}")
