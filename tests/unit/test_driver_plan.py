# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From what is on a node to the steps for its driver, as values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.debian_packages import DebianPackage
from ansible_collections.gaudi3.scale.plugins.module_utils.dkms import DkmsEntry
from ansible_collections.gaudi3.scale.plugins.module_utils.driver_plan import (
    DriverNode,
    DriverOptions,
    Step,
    describe,
    foresee,
    plan,
    refusals,
    reload_required,
    warnings,
)
from ansible_collections.gaudi3.scale.plugins.module_utils.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils.releases import find_release

KERNEL = "6.8.0-45-generic"
RELEASE = find_release("1.24.1")
MODULES = RELEASE.modules
OPTIONS = DriverOptions(release="1.24.1", packages=("habanalabs-dkms", "habanalabs-qual"))
HOLDER = Holder(4711, "python3", "gaudi3-scale-job-demo.service", ("accel0",))


def package(name: str, version: str = "1.24.1-482", held: bool = True, status: str = "installed") -> DebianPackage:
    return DebianPackage(name, version, held, status)


def built(version: str = "1.24.1-482", kernel: str = KERNEL) -> DkmsEntry:
    return DkmsEntry("habanalabs", version, kernel, "x86_64", "installed", "")


GOOD = DriverNode(
    running=KERNEL,
    packages={name: package(name) for name in OPTIONS.packages},
    dkms=(built(),),
    headers=(KERNEL,),
    loaded=MODULES,
    loaded_version="1.24.1-b336d5e",
    files={"habanalabs": f"/lib/modules/{KERNEL}/updates/dkms/habanalabs.ko"},
)
INSTALLED = replace(
    GOOD,
    packages={name: package(name, held=False) for name in OPTIONS.packages},
    dkms=(),
    loaded=(),
    loaded_version=None,
)
OTHER = replace(GOOD, loaded_version="1.23.0-2eae87a")


@pytest.mark.parametrize(
    ("options", "node", "expected"),
    [
        (OPTIONS, GOOD, []),
        (
            OPTIONS,
            INSTALLED,
            [Step("hold", OPTIONS.packages), Step("build", (KERNEL,)), Step("load", MODULES)],
        ),
        (replace(OPTIONS, hold=False), INSTALLED, [Step("build", (KERNEL,)), Step("load", MODULES)]),
        (replace(OPTIONS, hold=False), GOOD, [Step("unhold", OPTIONS.packages)]),
        (replace(OPTIONS, load_modules=False), replace(GOOD, loaded=()), []),
        (OPTIONS, replace(GOOD, loaded=MODULES[:2]), [Step("load", MODULES[2:])]),
        (replace(OPTIONS, kernels=(KERNEL, "6.8.0-48-generic")), GOOD, [Step("build", ("6.8.0-48-generic",))]),
        (OPTIONS, replace(GOOD, dkms=(built("1.23.0-695"),)), [Step("build", (KERNEL,))]),
        (OPTIONS, OTHER, []),
        (replace(OPTIONS, reload=True), replace(OTHER, holders=(HOLDER,)), []),
        (replace(OPTIONS, reload=True), OTHER, [Step("unload", MODULES[::-1]), Step("load", MODULES)]),
        (replace(OPTIONS, reload=True), GOOD, []),
    ],
)
def test_the_steps_are_those_that_are_missing(options: DriverOptions, node: DriverNode, expected: list[Step]) -> None:
    assert plan(options, RELEASE, node) == expected


def test_a_release_before_1_21_has_its_own_modules_and_orders() -> None:
    old = find_release("1.20.1")
    node = replace(GOOD, dkms=(built("1.20.1-97"),), loaded=old.modules, loaded_version="1.19.2-abc")
    steps = plan(DriverOptions(release="1.20.1", reload=True), old, node)
    assert steps == [Step("unload", old.unload_order), Step("load", old.modules)]
    assert "habanalabs_compat" not in old.modules


@pytest.mark.parametrize("node", [GOOD, INSTALLED, OTHER, replace(GOOD, dkms=(built("1.23.0-695"),))])
@pytest.mark.parametrize("options", [OPTIONS, replace(OPTIONS, hold=False), replace(OPTIONS, reload=True)])
def test_after_the_steps_nothing_is_left_to_do(options: DriverOptions, node: DriverNode) -> None:
    after = foresee(RELEASE, node, plan(options, RELEASE, node))
    assert plan(options, RELEASE, after) == []


def test_the_node_as_text_shows_builds_holds_and_modules() -> None:
    assert describe(GOOD).splitlines() == [
        f"dkms: 1.24.1-482 installed for {KERNEL}",
        "held: habanalabs-dkms",
        "held: habanalabs-qual",
        *(f"loaded: {name}" for name in MODULES),
        "loaded release: 1.24.1-b336d5e",
    ]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (GOOD, []),
        (INSTALLED, []),
        (
            replace(INSTALLED, packages={"habanalabs-dkms": package("habanalabs-dkms", "1.23.0-695")}),
            [
                "the package habanalabs-dkms is installed at 1.23.0-695, not installed at 1.24.1-482",
                "the package habanalabs-qual is absent, not installed at 1.24.1-482",
            ],
        ),
        (
            replace(
                GOOD,
                packages={**GOOD.packages, "habanalabs-dkms": package("habanalabs-dkms", status="half-configured")},
            ),
            ["the package habanalabs-dkms is half-configured at 1.24.1-482, not installed at 1.24.1-482"],
        ),
        (
            replace(INSTALLED, headers=()),
            [f"the headers of kernel {KERNEL} are missing (/lib/modules/{KERNEL}/build): install its headers package"],
        ),
        (replace(GOOD, headers=()), []),
    ],
)
def test_what_has_to_be_there_before_is_asked_for(node: DriverNode, expected: list[str]) -> None:
    assert refusals(OPTIONS, RELEASE, node) == expected


def test_another_loaded_release_is_reported_with_who_holds_the_cards() -> None:
    assert reload_required(OPTIONS, RELEASE, OTHER)
    assert not reload_required(replace(OPTIONS, load_modules=False), RELEASE, OTHER)
    (free,) = warnings(OPTIONS, RELEASE, OTHER)
    assert "1.23.0-2eae87a is still loaded and 1.24.1 is installed: run again with reload: true, or reboot." in free
    (busy,) = warnings(OPTIONS, RELEASE, replace(OTHER, holders=(HOLDER,)))
    assert "end process 4711 (python3) in gaudi3-scale-job-demo.service, then run again" in busy


def test_a_foreign_module_and_a_replaced_build_are_warned_about() -> None:
    path = f"/lib/modules/{KERNEL}/kernel/drivers/accel/habanalabs/habanalabs.ko"
    notes = "WARNING! Diff between built and installed module!"
    found = warnings(OPTIONS, RELEASE, replace(GOOD, files={"habanalabs": path}, dkms=(replace(built(), notes=notes),)))
    assert found == [
        f"modprobe would load {path}, which DKMS did not put there; remove that file or blacklist it.",
        f"The habanalabs 1.24.1-482 installed for kernel {KERNEL} is not what DKMS built: {notes}.",
    ]
    assert warnings(OPTIONS, RELEASE, GOOD) == []


def test_the_steps_are_said_in_words() -> None:
    assert str(Step("build", (KERNEL,))) == f"build {KERNEL}"
