# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of the training environment, and when one that is there is as asked."""

from __future__ import annotations

import configparser
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import (
    COMPLETE,
    FAILED,
    INSTALLING,
    Asked,
    Stamp,
    VenvOptions,
    asked_for,
    bundle_url,
    faults,
    installed_distributions,
    keeps_bundle,
    keeps_content,
    parse_stamp,
    render_constraints,
    render_pip_conf,
    render_stamp,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.requirement import named_requirement

RELEASE = find_release("1.24.1")
ASKED = Asked("/usr/bin/python3.12", "https://v/bundle.tgz", ["*.whl"], ["lightning>=2.6"])
WHEELS = {"torch": "2.11.0a0+git1", "habana-torch-plugin": "1.24.1.482"}
GOOD = Stamp(COMPLETE, ASKED, WHEELS, {"lightning": "2.6.6"})
INSTALLED = {**WHEELS, "lightning": "2.6.6", "pip": "24.0"}


def options(**more: Any) -> VenvOptions:
    given = {"path": "/opt/gaudi3_scale/venv", "python": "/usr/bin/python3", "release": "1.24.1"}
    return VenvOptions(**{**given, "packages_url": "https://v/artifactory/", "os_directory": "ubuntu2404", **more})


def test_the_bundles_url_has_the_repositorys_shape() -> None:
    assert bundle_url(options(), RELEASE, "debian-12") == (
        "https://v/artifactory/gaudi-pt-modules/1.24.1/482/pytorch/ubuntu2404/pytorch_modules-v2.11.0_1.24.1_482.tgz"
    )
    assert bundle_url(options(pytorch="2.13.0"), RELEASE, "x-1").endswith("/pytorch_modules-v2.13.0_1.24.1_482.tgz")
    assert bundle_url(options(bundle_url="file:///media/b.tgz"), RELEASE, "x-1") == "file:///media/b.tgz"


@pytest.mark.parametrize(
    ("system", "directory"),
    [
        ("ubuntu-22.04", "ubuntu2204"),
        ("rhel-9.6", "rhel96"),
        ("tencentos-3.1", "tencentos31"),
        ("debian-12", "debian12"),
    ],
)
def test_the_repositorys_directory_is_named_after_the_system(system: str, directory: str) -> None:
    assert f"/pytorch/{directory}/pytorch_modules" in bundle_url(options(os_directory=""), RELEASE, system)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"path": "venv"}, "path must be an absolute path"),
        ({"path": "/opt"}, "path must be an absolute path of a dedicated directory, not '/opt'"),
        (
            {"requirements": ["lightning", "torch==2.13"]},
            r"must not name torch \('torch==2.13'\).*set release or pytorch",
        ),
        ({"requirements": ["./dist/x.whl"]}, "is not the name of a package; write 'name', 'name==1.2' or 'name @ URL'"),
    ],
)
def test_wrong_options_are_refused_by_name(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        asked_for(options(**wrong), RELEASE, "/usr/bin/python3.12", "ubuntu-24.04")


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("lightning", "lightning"),
        ("lightning>=2.6,<2.7", "lightning"),
        ("gaudi3-scale==0.1.0", "gaudi3-scale"),
        ("Torch_TB.profiler ~= 0.4", "torch-tb-profiler"),
        ("datasets[audio]>=2", "datasets"),
        ("x @ https://example.com/x-1.0-py3-none-any.whl", "x"),
        ("tomli; python_version < '3.11'", "tomli"),
    ],
)
def test_a_requirement_names_a_package(requirement: str, name: str) -> None:
    assert named_requirement(requirement).name == name


def test_pip_conf_names_the_constraints_and_the_index() -> None:
    parsed = configparser.ConfigParser()
    parsed.read_string(render_pip_conf(options(index_url="http://mirror.example.com:8080/simple")))
    assert dict(parsed["global"]) == {
        "constraint": "/etc/gaudi3_scale/pip-constraints.txt",
        "index-url": "http://mirror.example.com:8080/simple",
        "trusted-host": "mirror.example.com:8080",
    }


def test_an_index_with_tls_is_not_trusted_beyond_that() -> None:
    assert "trusted-host" not in render_pip_conf(options(index_url="https://mirror.example.com/simple"))
    assert "index-url" not in render_pip_conf(options())


def test_constraints_pin_the_bundles_builds() -> None:
    assert render_constraints(WHEELS, RELEASE).splitlines()[1:] == [
        "habana-torch-plugin==1.24.1.482",
        "torch==2.11.0a0+git1",
    ]


def test_a_stamp_survives_being_written() -> None:
    assert parse_stamp(render_stamp(GOOD)) == GOOD


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"state": "complete"}', '{"state": 1, "asked": {}}'])
def test_what_is_no_stamp_of_ours_counts_as_none(text: str | None) -> None:
    assert parse_stamp(text) is None


def test_metadata_directories_tell_what_is_installed() -> None:
    entries = ["torch", "torch-2.11.0a0+git1.dist-info", "habana_torch_plugin-1.24.1.482.dist-info", "~orch.dist-info"]
    assert installed_distributions(entries) == WHEELS


@pytest.mark.parametrize(
    ("asked", "stamp", "installed", "expected"),
    [
        (ASKED, GOOD, INSTALLED, []),
        (ASKED, None, {}, ["it is not there yet"]),
        (ASKED, replace(GOOD, state=INSTALLING), INSTALLED, ["an earlier installation did not finish"]),
        (ASKED, replace(GOOD, state=FAILED), INSTALLED, ["an earlier installation did not finish"]),
        (ASKED, GOOD, {**INSTALLED, "torch": "2.13.0"}, ["torch is 2.13.0 instead of 2.11.0a0+git1"]),
        (
            ASKED,
            GOOD,
            {"lightning": "2.6.6", **dict([*WHEELS.items()][1:])},
            ["torch is absent instead of 2.11.0a0+git1"],
        ),
        (ASKED, GOOD, {**INSTALLED, "lightning": "2.7.0"}, ["lightning is 2.7.0 instead of 2.6.6"]),
        (replace(ASKED, bundle_url="https://v/c.tgz"), GOOD, INSTALLED, ["bundle_url was https://v/bundle.tgz"]),
        (replace(ASKED, interpreter="/usr/bin/python3.13"), GOOD, INSTALLED, ["interpreter was /usr/bin/python3.12"]),
    ],
)
def test_faults_are_named(asked: Asked, stamp: Stamp | None, installed: dict[str, str], expected: list[str]) -> None:
    assert faults(asked, stamp, installed) == expected


@pytest.mark.parametrize(
    ("asked", "stamp", "installed", "content", "bundle"),
    [
        (replace(ASKED, requirements=["lightning"]), GOOD, INSTALLED, True, True),
        (ASKED, GOOD, {**INSTALLED, "torch": "2.13.0"}, True, False),
        (replace(ASKED, bundle_url="https://v/c.tgz"), GOOD, INSTALLED, True, False),
        (ASKED, replace(GOOD, state=FAILED), INSTALLED, True, False),
        (ASKED, replace(GOOD, state=INSTALLING), INSTALLED, False, False),
        (replace(ASKED, interpreter="/usr/bin/python3.13"), GOOD, INSTALLED, False, False),
        (ASKED, None, INSTALLED, False, False),
    ],
)
def test_what_a_repair_can_build_on(
    asked: Asked, stamp: Stamp | None, installed: dict[str, str], content: bool, bundle: bool
) -> None:
    assert keeps_content(asked, stamp) is content
    assert keeps_bundle(asked, stamp, installed) is bundle
