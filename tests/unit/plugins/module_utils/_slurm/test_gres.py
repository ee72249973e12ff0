# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What sites call the cards."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.configuration import read_configuration
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.fragments import Wanted, gres_text, slurm_text
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.gres import (
    Gres,
    cards_among,
    gres_in,
    site_gres,
)
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._slurm.test_fragments import BOUND, FILES, Site


def named(tmp_path: Path, slurm: str, cards: str = "") -> str:
    for name, text in (("slurm.conf", slurm), ("gres.conf", cards)):
        (tmp_path / name).write_text(text)
    found = [read_configuration(str(tmp_path / name), "/none") for name in ("slurm.conf", "gres.conf")]
    return str(site_gres(*found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpu:hl225:8", "gpu:hl225"),
        ("hpu:gaudi3:8", "hpu:gaudi3"),
        ("gaudi:8", "gaudi"),
        ("hpu:8(S:0-1)", "hpu"),
        ("hpu:8(S:0-1),shm:no_consume:4K", "hpu"),
        ("gpu:a100:4,gpu:gaudi2:8", "gpu:gaudi2"),
        ("gpu:intel_gaudi3:8", "gpu:intel_gaudi3"),
        ("gpu:HL-325L:8(S:0)", "gpu:HL-325L"),
        ("gpu:8", ""),
        ("gpu:a100:4", ""),
        ("(null)", ""),
        ("", ""),
    ],
)
def test_the_cards_are_known_by_name_or_type(text: str, found: str) -> None:
    assert ",".join(map(str, cards_among(gres_in(text)))) == found


@pytest.mark.parametrize(
    ("slurm", "cards", "found"),
    [
        ("", "", "hpu"),
        ("GresTypes=gpu\n", "", "hpu"),
        ("GresTypes=gpu,hpu\n", "", "hpu"),
        ("GresTypes=gaudi\n", "", "gaudi"),
        ("GresTypes=gpu\nNodeName=n[1-2] Gres=gpu:hl225:8\n", "", "gpu:hl225"),
        ("GresTypes=hpu\nNodeName=DEFAULT Gres=hpu:gaudi3:8\nNodeName=n1\n", "", "hpu:gaudi3"),
        ("GresTypes=gpu\nNodeName=login Gres=gpu:a100:2\n", "", "hpu"),
        # By its files alone a name of the site's own is one of ours.
        ("GresTypes=accel\n", "NodeName=n[1-8] Name=accel Type=x File=/dev/accel/accel[0-7]\n", "accel:x"),
        ("GresTypes=gpu\n", "name=gpu type=hl225 file=/dev/accel/accel0 cores=0-9\n", "gpu:hl225"),
        ("GresTypes=gpu\n", "AutoDetect=nvml\nName=gpu File=/dev/nvidia[0-3]\n", "hpu"),
    ],
)
def test_what_the_site_calls_them_counts(slurm: str, cards: str, found: str, tmp_path: Path) -> None:
    assert named(tmp_path, slurm, cards) == found


def test_two_names_are_refused_with_the_option(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="have 2 names for cards, gpu:hl225, hpu; set gaudi_slurm_gres to the one"):
        named(tmp_path, "GresTypes=gpu,hpu\nNodeName=a Gres=gpu:hl225:8\nNodeName=b Gres=hpu:8\n")


@pytest.mark.parametrize("text", ["hpu:8", "gpu:hl225:8", "a b", "hpu,gpu", "hpu\nx"])
def test_an_option_that_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(GaudiError, match="gaudi_slurm_gres is "):
        Gres.parse(text)


def test_our_lines_have_the_site_s_name_and_type(tmp_path: Path) -> None:
    site = Site(tmp_path, "GresTypes=gpu\nNodeName=gaudi01 Gres=gpu:hl225:8\n")
    site.apply()
    assert "GresTypes" not in site.text("slurm/gaudi3_scale.conf")
    assert " Gres=gpu:hl225:8 State=UNKNOWN\n" in site.text("slurm/gaudi3_scale.conf")
    assert f"NodeName=gaudi07 Name=gpu Type=hl225 File={','.join(FILES)}\n" in site.text("slurm/gaudi3_scale_gres.conf")
    assert not site.apply()["changed"]
    assert site.apply(gres="gpu:hl-325l", check_mode=True)["changed"]


@pytest.mark.parametrize("line", ["NodeName=gaudi0[1-9] Name=hpu Count=8", "Name=hpu File=/dev/accel/accel[0-7]"])
def test_cards_that_the_site_s_gres_conf_has_already_are_refused_with_their_line(line: str, tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.slurm / "gres.conf").write_text(f"include gaudi3_scale_gres.conf\n{line}\n")
    with pytest.raises(GaudiError, match=r"Name=hpu is set in .*gres.conf line 2, and the cards of gaudi07 get"):
        site.apply()
    assert not (site.slurm / "gaudi3_scale.conf").exists()


def test_a_continued_line_of_the_site_s_is_seen_whole(tmp_path: Path) -> None:
    """The lines that a site has, where gaudi003 stands on one that goes on."""
    (tmp_path / "slurm.conf").write_text(
        "GresTypes=gpu,\\\nhpu\nNodeName=DEFAULT \\\n TmpDisk=4096 \\\n State=UNKNOWN\n"
        "NodeName=gaudi001,gaudi002,\\\ngaudi003 CPUs=152 \\\n Gres=hpu:8\n"
    )
    found = read_configuration(str(tmp_path / "slurm.conf"), "/none")
    other = Wanted((BOUND,), "", 300, "")
    assert "GresTypes" not in slurm_text(other, found)
    assert "Name=hpu File=" in gres_text(other)
    third = type(BOUND)("gaudi003", BOUND.processors, 8, FILES, 0)
    with pytest.raises(GaudiError, match=r"slurm.conf line 6, and gaudi003 gets its line"):
        slurm_text(Wanted((third,), "", 300, ""), found)
