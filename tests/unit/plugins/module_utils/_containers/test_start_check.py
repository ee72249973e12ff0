# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Containers started, counted, removed and remembered, with engines that note what they are asked."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.container_start import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.start_check import RECORD, check
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.state import Place
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

ALL = [f"0000:{number:02x}:00.0" for number in range(0x33, 0x3B)]
OK = CommandResult(0, "", "")


class Node:
    """A node whose hl-smi sees ``cards``, and whose containers see ``inside`` or else end as ``ends`` says."""

    def __init__(self, root: Path, *programs: str) -> None:
        self.root = root
        self.place = Place(str(root / "etc"), installed={"hl-smi", *programs}.__contains__)
        self.cards = list(ALL)
        self.inside: Mapping[str, Sequence[str]] = {}
        self.ends: CommandResult | BaseException | None = None
        self.directories = "[/etc/cdi /var/run/cdi]"
        self.calls: list[str] = []
        self.image: dict[str, str] = {}
        for name in ("usr", "etc", "lib64"):
            (root / name).mkdir()
        (root / "bin").symlink_to("usr/bin")

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def run(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        assert timeout, "no program may keep a run of the role for ever"
        if argv[0] == "hl-smi":
            return self.listing(self.cards)
        if argv[1] == "--version":
            return CommandResult(0, f"{argv[0]} version 29.1.5", "")
        if argv[1] == "info":
            return CommandResult(0, self.directories, "")
        self.calls.append(" ".join(argv[:2]))
        if argv[1] == "import":
            with tarfile.open(argv[2]) as tar:
                self.image = {entry.name: entry.linkname for entry in tar}
        if argv[1] != "run":
            return OK
        if isinstance(self.ends, BaseException):
            raise self.ends
        way = "cdi" if "--device" in argv else "runtime"
        return self.ends or self.listing(self.inside.get(way, self.cards))

    def listing(self, cards: Sequence[str]) -> CommandResult:
        return CommandResult(0, "\n".join(["bus_id", *cards]) + "\n", "")

    def check(self, *engines: str, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        wishes = StartOptions(engines or ("podman",), **options)
        return check(wishes, self.run, check_mode, self.place, root=str(self.root))


EACH = ["podman rm", "podman rmi", "podman import", "podman run", "podman rmi", "podman rm"]


def test_one_container_is_started_counted_and_gone(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman")
    result = node.check()
    assert node.calls == EACH
    assert result == {
        "changed": False,
        "msg": "hl-smi counts 8 cards in a container of podman with the runtime habana.",
        "cards": 8,
        "counts": {"podman": {"runtime": 8}},
        "started": 1,
        "not_checked": [],
    }
    assert node.image["bin"] == "usr/bin"
    assert node.image["usr"] == node.image["lib64"] == ""
    assert "sbin" not in node.image


def test_the_second_time_nothing_is_started_until_something_matters(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman")
    node.write("etc/cdi/gaudi3-scale.json", "{}")
    assert node.check(cdi=True)["started"] == 2
    node.calls.clear()
    again = node.check(cdi=True)
    assert (again["started"], again["counts"], node.calls) == (0, {"podman": {"runtime": 8, "cdi": 8}}, [])
    assert again["msg"].startswith("Nothing has changed since 20")
    for change in (
        lambda: node.cards.pop(),
        lambda: node.write("etc/cdi/gaudi3-scale.json", "{} "),
        lambda: node.write("etc/habana-container-runtime/config.toml", "disable-require = true\n"),
        lambda: node.write("etc/containers/containers.conf.d/90-gaudi3-scale.conf", "# Written by gaudi3.scale.\n"),
    ):
        change()
        assert node.check(cdi=True)["started"] == 2
        assert node.check(cdi=True)["started"] == 0
    assert node.check(cdi=True, image="localhost/other")["started"] == 2


def test_check_mode_starts_nothing_and_remembers_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman")
    assert node.check(check_mode=True)["msg"] == "1 containers to start."
    assert node.calls == []
    assert not (tmp_path / RECORD).exists()


def test_a_container_that_misses_a_card_is_a_failure_every_time(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman")
    node.write("etc/cdi/gaudi3-scale.json", "{}")
    node.inside = {"cdi": ALL[1:]}
    for _ in range(2):
        with pytest.raises(
            GaudiError, match=r"habana.ai/gaudi=all sees 7 of 8 cards \(0000:33:00.0 is missing\)"
        ) as it:
            node.check(cdi=True)
        assert it.value.facts["counts"] == {"podman": {"runtime": 8, "cdi": 7}}
    assert node.calls == EACH * 4
    assert not (tmp_path / RECORD).exists()


@pytest.mark.parametrize("end", [KeyboardInterrupt(), CommandResult(124, "", "podman: timed out after 120 s")])
def test_what_does_not_come_to_an_end_is_removed(tmp_path: Path, end: CommandResult | BaseException) -> None:
    node = Node(tmp_path, "podman")
    node.ends = end
    with pytest.raises((GaudiError, KeyboardInterrupt)):
        node.check()
    assert node.calls == EACH


def test_an_image_that_is_named_is_not_made_and_not_removed(tmp_path: Path) -> None:
    node = Node(tmp_path, "docker", "dockerd")
    node.check("docker", image="registry.example.org/gaudi:1")
    assert node.calls == ["docker rm", "docker run", "docker rm"]


def test_what_was_not_started_is_said(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "dockerd", "containerd")
    node.write("etc/habana-container-runtime/config.toml", '[habana-container-runtime]\nmode = "cdi"\n')
    node.write("etc/cdi/gaudi3-scale.json", "{}")
    node.directories = "[]"
    result = node.check("docker", "podman", "containerd", cdi=True)
    assert result["counts"] == {"podman": {"cdi": 8}}
    passes = f'{tmp_path}/etc/habana-container-runtime/config.toml says mode = "cdi", so the runtime passes no cards'
    assert result["not_checked"] == [
        f"{passes} and was not started with docker.",
        "docker has not read its CDI setting yet, so it was not started with it; restart docker.",
        f"{passes} and was not started with podman.",
        "Kubernetes starts containerd's containers, so none was started here; try a pod with habana.ai/gaudi.",
    ]


def test_engines_that_are_not_there_and_nodes_without_cards(tmp_path: Path) -> None:
    node = Node(tmp_path)
    result = node.check("docker")
    assert result["not_checked"] == ["docker is not installed, so no container of it was started."]
    assert result["counts"] == {}
    node.cards = []
    assert node.check("docker")["msg"] == "hl-smi shows no card on the node, so no container was started."


@pytest.mark.parametrize("text", ["", "half", "[]", '{"fingerprint": "x"}'])
def test_a_record_that_cannot_be_read_costs_a_start(tmp_path: Path, text: str) -> None:
    node = Node(tmp_path, "podman")
    node.write(RECORD, text)
    assert node.check()["started"] == 1
    assert json.loads((tmp_path / RECORD).read_text(encoding="utf-8"))["counts"] == {"podman": {"runtime": 8}}
