# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What of EFA is refused in a sentence, and what is said: tables of options and of nodes."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import (
    EfaOptions,
    Machine,
    cautions,
    check_options,
    refuse_downgrade,
    refuse_machine,
)

SUM = "sha256:" + "a" * 64
PINNED = {"version": "1.34.0", "archive": "/srv/aws-efa-installer-1.34.0.tar.gz", "checksum": SUM}


def options(release: str = "1.21.3", **given: Any) -> EfaOptions:
    return EfaOptions(release, **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        PINNED,
        {**PINNED, "installer_options": ("--skip-kmod", "--minimal")},
        {**PINNED, "archive": "https://mirror.site/efa/aws-efa-installer-1.34.0.tar.gz"},
        {**PINNED, "archive": "https://mirror.site/download?name=efa"},
        # A name that tells no version: the checksum and the installer's own env.sh do.
        {**PINNED, "archive": "/srv/aws-efa-installer-latest.tar.gz"},
        {**PINNED, "archive": "http://mirror.site/efa.tar.gz", "plain_http_hosts": ("mirror.site",)},
        {**PINNED, "archive": "file:///mnt/site/efa.tar.gz"},
    ],
)
def test_what_can_be_meant_is_taken(given: dict[str, Any]) -> None:
    check_options(options(**given))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"release": "newest"}, ("release='newest'", "gaudi_release")),
        (
            {"version": "1.34.0"},
            ("version is '1.34.0' without", "gaudi_fabric_efa_archive", "gaudi_fabric_efa_checksum"),
        ),
        ({"version": "1.34.0", "archive": "/srv/a.tar.gz"}, ("without checksum (gaudi_fabric_efa_checksum)",)),
        ({"archive": "/srv/a.tar.gz", "checksum": SUM}, ("without version (gaudi_fabric_efa_version)",)),
        ({"checksum": SUM}, ("without version", "archive")),
        ({**PINNED, "version": "latest"}, ("version='latest'", "1.34.0")),
        ({**PINNED, "version": "1.34"}, ("version='1.34'", "three numbers")),
        ({**PINNED, "checksum": "a" * 64}, ("checksum=", "sha256sum")),
        ({**PINNED, "checksum": "md5:" + "a" * 32}, ("checksum=", "sha256:")),
        ({**PINNED, "checksum": SUM[:-1]}, ("checksum=", "64 digits")),
        ({**PINNED, "checksum": SUM.upper()}, ("checksum=", "0-9a-f")),
        ({**PINNED, "archive": "efa.tar.gz"}, ("archive='efa.tar.gz'", "absolute path on the controller")),
        ({**PINNED, "archive": "ftp://mirror.site/efa.tar.gz"}, ("archive must be a URL",)),
        (
            {**PINNED, "archive": "http://mirror.site/efa.tar.gz"},
            ("plain http to mirror.site", "gaudi_plain_http_hosts"),
        ),
        (
            {**PINNED, "archive": "/srv/aws-efa-installer-1.30.0.tar.gz"},
            ("is of version 1.30.0", "version says 1.34.0"),
        ),
        (
            {**PINNED, "archive": "https://mirror.site/aws-efa-installer-1.30.0.tar.gz?part=1"},
            ("is of version 1.30.0", "version says 1.34.0"),
        ),
        ({**PINNED, "installer_options": ("--uninstall",)}, ("'--uninstall'", "--skip-kmod")),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(GaudiError) as refused:
        check_options(options(**given))
    message = str(refused.value)
    assert [word for word in words if word not in message] == [], message
    assert "\n" not in message and message.endswith(".")


DL1 = "dl1.24xlarge"


@pytest.mark.parametrize(
    ("generation", "instance_type", "release", "force", "words"),
    [
        ("gaudi", DL1, "1.21.3", False, None),
        ("gaudi", DL1, "1.17.1-40", False, None),
        ("gaudi", DL1, "1.22.0", False, ("first-generation", "1.21 is their last", "gaudi_release")),
        # To force it changes nothing: the driver does not know the cards.
        ("gaudi", DL1, "1.24.1-482", True, ("first-generation", "1.24.1-482")),
        ("gaudi2", "HLS2", "1.21.3", False, ("Gaudi 2", "no evidence", "skip it from 1.18", "gaudi_fabric_force")),
        ("gaudi3", "XE9680", "1.24.1", False, ("Gaudi 3", "no evidence", "gaudi_fabric_provider")),
        ("gaudi2", "HLS2", "1.24.1", True, None),
        ("gaudi3", "XE9680", "1.24.1", True, None),
        (None, "c5n.18xlarge", "1.21.3", False, ("No Gaudi card", "gaudi_fabric_force")),
        (None, "c5n.18xlarge", "1.21.3", True, None),
        (None, "dl2q.24xlarge", "1.21.3", True, ("dl2q.24xlarge", "Qualcomm", "dl1.24xlarge")),
    ],
)
def test_which_nodes_are_refused(
    generation: str | None, instance_type: str, release: str, force: bool, words: tuple[str, ...] | None
) -> None:
    wishes, machine = options(release, force=force), Machine(generation, instance_type)
    if words is None:
        refuse_machine(wishes, machine)
        return
    with pytest.raises(GaudiError) as refused:
        refuse_machine(wishes, machine)
    message = str(refused.value)
    assert [word for word in words if word not in message] == [], message


@pytest.mark.parametrize(
    ("generation", "release", "said"),
    [
        ("gaudi", "1.17.1", []),
        ("gaudi", "1.18.0", ["release 1.18.0: the open sources of HCL skip EFA", "all-reduce", "decide"]),
        ("gaudi", "1.21.3", ["release 1.21.3: the open sources of HCL skip EFA", "documents list it"]),
        ("gaudi2", "1.17.1", ["EFA on Gaudi 2 was forced", "no evidence", "all-reduce"]),
        (None, "1.17.1", []),
    ],
)
def test_what_an_operator_has_to_know(generation: str | None, release: str, said: list[str]) -> None:
    sentences = cautions(options(release, force=True), Machine(generation, ""))
    assert len(sentences) == bool(said)
    assert [word for word in said if word not in sentences[0]] == []


@pytest.mark.parametrize("installed", [None, "1.9.5", "1.34.0", "1.33.10"])
def test_a_newer_version_is_no_downgrade(installed: str | None) -> None:
    refuse_downgrade(options(**PINNED), installed)


def test_an_older_version_is_not_put_over_a_newer_one() -> None:
    with pytest.raises(GaudiError, match=r"older than the EFA 1\.100\.0 .* --uninstall` of 1\.100\.0 first"):
        refuse_downgrade(options(**PINNED), "1.100.0")
