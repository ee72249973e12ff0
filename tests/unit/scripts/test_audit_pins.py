# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What pip takes is exact, and is held against known holes; what nobody has asked says so."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.known_holes import holes_of, warnings_of
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import RELEASES
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pin_table import PINS
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pins import Pin

from scripts import audit_pins

ONE = Pin("one", "1.0", sha256=("a" * 64,))
TWO = Pin("two", "2.0", sha256=("b" * 64,))
NEVER: dict[str, Any] = {"audited": "", "holes": {}, "pins": []}


def test_each_pin_of_ours_has_a_version_and_hashes() -> None:
    assert audit_pins.not_whole(PINS) == []


@pytest.mark.parametrize("pin", [Pin("x", "1.0"), Pin("x", "", sha256=("a" * 64,)), Pin("x", "1.0", sha256=("md5",))])
def test_one_that_is_not_whole_is_named(pin: Pin) -> None:
    (line,) = audit_pins.not_whole([ONE, pin])
    assert line.startswith("x ") and line.endswith("run make pins.")


def test_a_hole_is_that_of_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    known = {
        **NEVER,
        "holes": {"one==1.0": [{"id": "PYSEC-1", "fixed": ["1.1"]}], "two==1.9": [{"id": "X", "fixed": []}]},
    }
    assert audit_pins.with_holes([ONE, TWO], known) == ["one 1.0 has PYSEC-1: take 1.1."]


def test_what_was_never_asked_says_so() -> None:
    assert audit_pins.state([ONE, TWO], NEVER)[0].startswith("2 pins with hashes; never audited: no run of")
    known = {"audited": "2026-11-28", "holes": {}, "pins": ["one==1.0"]}
    assert audit_pins.state([ONE, TWO], known) == ["2 pins with hashes, audited on 2026-11-28; never audited: two."]
    assert audit_pins.state([ONE], known) == ["1 pins with hashes, audited on 2026-11-28."]


def test_an_answer_becomes_the_table_and_one_that_is_not_whole_none() -> None:
    told = {
        "dependencies": [{"name": "one", "version": "1.0", "vulns": [{"id": "P-1", "fix_versions": ["1.1"], "x": 1}]}]
    }
    made = audit_pins.renewed([ONE], lambda file: told if "--hash=sha256:aaaa" in file.read_text() else {})
    assert (made["pins"], made["holes"]) == (["one==1.0"], {"one==1.0": [{"id": "P-1", "fixed": ["1.1"]}]})
    with pytest.raises(ValueError, match=r"it left out two==2.0"):
        audit_pins.renewed([ONE, TWO], lambda _file: told)


def test_releases_whose_torch_has_a_hole_say_so() -> None:
    with_both = {row.version for row in RELEASES.values() if len(holes_of("torch", row.pytorch)) > 1}
    assert with_both and all(version.startswith(("1.18.", "1.19.")) for version in with_both)
    assert "with CVE-2025-32434: torch.load" in warnings_of(RELEASES["1.19.2"])[0]
    assert ["CVE-2026-24747" in line for line in warnings_of(RELEASES["1.23.0"])] == [True]
    assert warnings_of(RELEASES["1.24.1"]) == []
    assert len(holes_of("torch", "")) == 2
