# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which versions pip is held to: the collection's, the site's, and those of the vendor's own wheels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pin_table import PINS
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pins import (
    Pin,
    chosen,
    hashed_requirements,
    left_to,
    needed,
    render,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.requirement import named_requirement

ROOT = Path(__file__).resolve().parents[5]
DIGEST, OTHER = "1" * 64, "2" * 64
KNOWN = (
    Pin("async-timeout", "5.0.1", marker="python_version == '3.10'", sha256=(DIGEST,)),
    Pin("boto3", "1.44.5", ("s3",), sha256=(DIGEST,)),
    Pin("lightning", "2.6.6", sha256=(DIGEST, OTHER)),
    Pin("sympy", "1.14.0", sha256=(DIGEST,)),
)


def lines(*site: str, requirements: tuple[str, ...] = ()) -> list[str]:
    return [pin.line for pin in chosen(KNOWN, site, requirements)]


def test_the_collections_pins_hold_where_nobody_says_otherwise() -> None:
    assert lines() == [
        "async-timeout==5.0.1 ; python_version == '3.10'",
        "boto3==1.44.5",
        "lightning==2.6.6",
        "sympy==1.14.0",
    ]
    for requirement in ("lightning", "lightning == 2.6.6", "Lightning[extra]", "lightning; python_version > '3'"):
        assert lines(requirements=(requirement,)) == lines()


@pytest.mark.parametrize("requirement", ["lightning==2.6.5", "lightning>=2.6,<2.7", "lightning @ https://x/l.whl"])
def test_a_requirement_with_a_version_of_its_own_wins(requirement: str) -> None:
    assert "lightning==2.6.6" not in lines(requirements=(requirement,))


def test_a_site_replaces_adds_and_takes_away() -> None:
    made = lines("sympy==1.13.1", f"Data_Sets==4.2 --hash=sha256:{DIGEST}", "boto3")
    assert made == [
        "async-timeout==5.0.1 ; python_version == '3.10'",
        "data-sets==4.2",
        "lightning==2.6.6",
        "sympy==1.13.1",
    ]


@pytest.mark.parametrize(
    "entry",
    ["sympy>=1", "sympy==1.14 --hash=md5:00", "sympy --hash=sha256:" + DIGEST, "a b", "", "x==1\n-r /etc/shadow"],
)
def test_what_is_no_pin_is_one_sentence(entry: str) -> None:
    with pytest.raises(GaudiError, match=r"^pins has '(?s:.*)'; write 'name==1.2', followed by ' --hash"):
        chosen(KNOWN, [entry], ())


def test_an_environment_needs_the_base_its_extras_and_what_the_site_pins() -> None:
    pins = chosen(KNOWN, ["datasets==4.2"], ())
    assert [pin.name for pin in needed(pins, [])] == ["async-timeout", "datasets", "lightning", "sympy"]
    assert "boto3" in [pin.name for pin in needed(pins, ["s3"])]


def test_with_hashes_every_package_is_a_requirement() -> None:
    pins = needed(chosen(KNOWN, [f"datasets==4.2 --hash=sha256:{OTHER}"], ()), [])
    made = hashed_requirements(["lightning==2.6.6", "datasets==4.2", "einops==0.8"], pins)
    assert made == [
        "einops==0.8",
        f"async-timeout==5.0.1 ; python_version == '3.10' --hash=sha256:{DIGEST}",
        f"datasets==4.2 --hash=sha256:{OTHER}",
        f"lightning==2.6.6 --hash=sha256:{DIGEST} --hash=sha256:{OTHER}",
        f"sympy==1.14.0 --hash=sha256:{DIGEST}",
    ]


def test_constraints_are_a_file_of_lines() -> None:
    assert render(KNOWN[2:]).splitlines()[1:] == ["lightning==2.6.6", "sympy==1.14.0"]


@pytest.mark.parametrize(
    ("demand", "left"),
    [
        ("", []),
        (">=1.13.3", []),
        (">=1.14.0,!=1.13.9", []),
        (">=1.14.1", ["sympy"]),
        ("==1.13.1", ["sympy"]),
        ("<1.14", ["sympy"]),
        ("~=1.13", ["sympy"]),
    ],
)
def test_the_vendors_wheels_have_the_last_word(demand: str, left: list[str]) -> None:
    """PyTorch 2.6 wants sympy==1.13.1, 2.7 at least 1.13.3."""
    assert left_to({"sympy": [demand], "other": ["==1"]}, KNOWN) == left


def test_every_requirement_of_the_node_library_is_pinned_and_what_a_role_asks_for_is_that_version() -> None:
    pinned = {pin.name: pin for pin in PINS}
    for file in (ROOT / "src" / "requirements").glob("*.txt"):
        for line in file.read_text(encoding="utf-8").splitlines():
            name = named_requirement(line).name
            if name != "torch":
                assert file.stem in pinned[name].needed_by or pinned[name].needed_by == ("base",), line
                assert left_to({name: [line[len(name) :].partition(",<")[0]]}, PINS) == []
    defaults = yaml.safe_load((ROOT / "roles/gaudi_venv/defaults/main.yml").read_text(encoding="utf-8"))
    for requirement in defaults["gaudi_venv_requirements"]:
        assert requirement == pinned[named_requirement(requirement).name].line


def test_the_table_has_a_hash_of_every_file_and_nothing_of_the_vendors() -> None:
    assert [pin.name for pin in PINS] == sorted({pin.name for pin in PINS})
    assert {"torch", "gaudi3-scale"} & {pin.name for pin in PINS} == set()
    for pin in PINS:
        assert pin.sha256, pin.name
        assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pin.sha256), pin.name
