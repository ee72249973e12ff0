# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The recipe that the repository's RPMs are made of: names, versions and needs as the vendor has them on RHEL."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.module_utils._packages.rpm_database import RPM_NAMES, plain_version
from sandbox.repository import packages, rpm
from sandbox.simulator.releases import RELEASES

VERSION = "1.24.1-482"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return rpm.spec(packages.all_packages(RELEASES[VERSION]), Path("/staged")).splitlines()


def section(lines: list[str], start: str) -> list[str]:
    """The lines from ``start`` to the next section that is not a package's own field."""
    first = lines.index(start) + 1
    rest = lines[first:]
    return rest[: next((number for number, line in enumerate(rest) if line.startswith("%")), len(rest))]


@pytest.mark.parametrize(
    ("debian", "rpms"),
    [
        ("habanalabs-thunk (= 1.24.1-482)", "habanalabs-thunk = 1.24.1-482.el9"),
        ("habanalabs-dkms (>= 1.24.1-482)", "habanalabs >= 1.24.1-482.el9"),
        ("dkms (>= 2.8)", "dkms >= 2.8"),
        ("dkms", "dkms"),
    ],
)
def test_a_relation_is_said_in_rpms_words(debian: str, rpms: str) -> None:
    assert rpm.dependency(debian) == rpms


def test_a_relation_of_another_form_is_not_guessed_at() -> None:
    with pytest.raises(ValueError, match=r"a \| b"):
        rpm.dependency("a | b")


def test_every_package_is_there_once_under_its_name_on_rhel(lines: list[str]) -> None:
    made = packages.all_packages(RELEASES[VERSION])
    named = [line.rpartition(" ")[2] for line in lines if line.startswith("%package -n ")]
    assert named == [rpm.rpm_name(package.name) for package in made]
    assert "habanalabs" in named
    assert "habanalabs-dkms" not in named
    # The collection has the same table of its own.
    assert rpm.NAMES == RPM_NAMES


def test_the_version_has_the_distributions_suffix_that_the_collection_takes_off(lines: list[str]) -> None:
    version = next(line for line in lines if line.startswith("Version: ")).partition(": ")[2]
    release = next(line for line in lines if line.startswith("Release: ")).partition(": ")[2]
    assert (version, release) == ("1.24.1", "482.el9")
    assert plain_version(f"{version}-{release}") == VERSION


def test_packages_of_a_release_need_each_other_at_exactly_this_version(lines: list[str]) -> None:
    graph = section(lines, "%package -n habanalabs-graph")
    assert f"Requires: habanalabs-thunk = {VERSION}.el9" in graph
    inside = [line for line in lines if line.startswith("Requires: habanalabs")]
    assert all(line.endswith(f" = {VERSION}.el9") for line in inside)


def test_what_runs_on_every_architecture_is_noarch(lines: list[str]) -> None:
    assert "BuildArch: noarch" in section(lines, "%package -n habanalabs")
    assert "BuildArch: noarch" not in section(lines, "%package -n habanalabs-graph")


def test_only_the_driver_has_scripts_and_a_failing_build_fails_its_script(lines: list[str]) -> None:
    assert [line for line in lines if line.startswith(("%post", "%pre"))] == [
        "%post -n habanalabs",
        "%preun -n habanalabs",
    ]
    (post,) = section(lines, "%post -n habanalabs")
    assert post == f"/usr/lib/dkms/common.postinst habanalabs {VERSION} /usr/share/habanalabs-dkms"
    (preun,) = section(lines, "%preun -n habanalabs")
    assert preun.startswith(f"dkms remove -m habanalabs -v {VERSION} --all --rpm_safe_upgrade")


def test_every_file_has_its_mode_and_configuration_is_kept(lines: list[str]) -> None:
    made = packages.all_packages(RELEASES[VERSION])
    listed = [line for line in lines if line.startswith(("%attr(", "%config("))]
    assert len(listed) == sum(len(package.files) for package in made)
    kept = {line.rpartition(" ")[2] for line in listed if line.startswith("%config(noreplace) ")}
    assert kept == {path for package in made for path in package.configuration_files}
    assert "%attr(0755, root, root) /usr/bin/hl-smi" in listed


def test_the_source_of_the_modules_lies_where_dkms_looks_for_it(lines: list[str]) -> None:
    first = lines.index("%files -n habanalabs")
    assert f"%attr(0644, root, root) /usr/src/habanalabs-{VERSION}/dkms.conf" in lines[first:]
