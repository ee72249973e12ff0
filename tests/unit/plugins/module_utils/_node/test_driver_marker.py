# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The marker of a change of the driver: on disk before what it tells of, and never guessed at."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.driver_marker import (
    CHANGING,
    DONE,
    FAILED,
    FILE,
    GOING_BACK,
    ROLLED_BACK,
    Marker,
    begun,
    keep,
    read,
)

MARKER = Marker(
    CHANGING,
    previous="1.23.0-695",
    wanted="1.24.1-482",
    phase="unload",
    packages={"habanalabs-dkms": "1.23.0-695"},
    stopped=("gaudi-exporter.service", "docker-0123456789ab.scope"),
    cards=8,
    reason="rmmod: in use",
)


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    assert keep(MARKER, str(tmp_path)) == MARKER
    assert read(str(tmp_path)) == MARKER


def test_a_marker_with_nothing_but_the_two_releases_is_read_again(tmp_path: Path) -> None:
    short = Marker(DONE, "", "1.24.1-482")
    keep(short, str(tmp_path))
    assert read(str(tmp_path)) == short


def test_a_person_can_read_the_file(tmp_path: Path) -> None:
    keep(MARKER, str(tmp_path))
    text = (tmp_path / "var/lib/gaudi3_scale/driver.json").read_text()
    assert text.endswith("}\n")
    assert json.loads(text)["phase"] == "unload"
    assert '\n  "wanted": "1.24.1-482",\n' in text


def test_a_node_that_never_had_one_has_none(tmp_path: Path) -> None:
    assert read(str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


def test_the_next_steps_name_is_on_disk_and_the_rest_stays(tmp_path: Path) -> None:
    assert begun(MARKER, "install", str(tmp_path)).phase == "install"
    reported = read(str(tmp_path))
    assert reported is not None
    assert (reported.phase, reported.stopped, reported.cards) == ("install", MARKER.stopped, 8)


@pytest.mark.parametrize(
    ("state", "interrupted"),
    [(CHANGING, True), (GOING_BACK, True), (DONE, False), (ROLLED_BACK, False), (FAILED, False)],
)
def test_which_states_are_no_end(state: str, interrupted: bool) -> None:
    assert Marker(state, "", "1.24.1-482").interrupted is interrupted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ('{"state": "changing", "previous"', "Expecting ':'"),
        ("[]", "not a mapping"),
        ("null", "not a mapping"),
        ('{"state": "dancing", "previous": "", "wanted": ""}', "its state is 'dancing'"),
        ('{"state": "done", "previous": "", "wanted": "", "color": "red"}', "unexpected keyword argument 'color'"),
        ('{"state": "done", "previous": ""}', "missing 1 required positional argument: 'wanted'"),
        ('{"state": "done", "previous": "", "wanted": "", "stopped": 1}', "not iterable"),
    ],
)
def test_a_file_that_is_not_ours_is_named_in_one_sentence_and_left_alone(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(GaudiError) as caught:
        read(str(tmp_path))
    said = str(caught.value)
    assert said.startswith(f"{file}, which records how far a change of the driver came, cannot be read (")
    assert words in said
    assert said.endswith("then remove the file.")
    assert "\n" not in said
    assert caught.value.facts == {"file": str(file)}
    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir(parents=True)
    with pytest.raises(GaudiError, match=r"driver\.json cannot be read: Is a directory"):
        read(str(tmp_path))


def test_the_text_is_on_the_disk_before_it_takes_the_old_ones_place(tmp_path: Path, monkeypatch: Any) -> None:
    keep(MARKER, str(tmp_path))
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        assert '"phase": "load"' in Path(f"/proc/self/fd/{descriptor}").read_text()
        order.append("sync")
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        order.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    begun(MARKER, "load", str(tmp_path))
    assert order == ["sync", "replace"]


def test_a_disk_that_is_full_leaves_the_marker_that_was_there(tmp_path: Path, monkeypatch: Any) -> None:
    keep(MARKER, str(tmp_path))

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        begun(MARKER, "load", str(tmp_path))
    assert read(str(tmp_path)) == MARKER
    assert [path.name for path in (tmp_path / FILE).parent.iterdir()] == ["driver.json"]
