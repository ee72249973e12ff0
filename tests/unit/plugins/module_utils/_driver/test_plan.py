# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From what is on a node to the steps for its driver, as values."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.dkms import DkmsEntry
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.dkms_repair import Damage
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.outlook import (
    describe,
    difference,
    foresee,
    warnings,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.plan import (
    ORDER,
    PREPARING,
    DriverNode,
    DriverOptions,
    boot_list,
    is_change,
    outcome,
    plan,
    previous_release,
    refusals,
    reload_required,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.signing import Signing
from ansible_collections.gaudi3.scale.plugins.module_utils._node.driver_marker import (
    CHANGING,
    FAILED,
    ROLLED_BACK,
    Marker,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import WantedFile
from ansible_collections.gaudi3.scale.plugins.module_utils._node.steps import Step
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_system import Package
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, Release, find_release

KERNEL, NEXT = "6.8.0-45-generic", "6.8.0-48-generic"
RELEASE, OLD = find_release("1.24.1"), find_release("1.23.0")
MODULES = RELEASE.modules
NAMES = ("habanalabs-dkms", "habanalabs-qual")
OPTIONS = DriverOptions(release="1.24.1", packages=NAMES, os_packages=("dkms", "linux-headers-{kernel}"))
SERVICE = Holder(4711, "exporter", "gaudi-exporter.service", ("accel0",))
CONTAINER = Holder(4712, "python3", "docker-0123456789ab.scope", ("accel1",))
SHELL = Holder(4713, "python3", "session-3.scope", ("accel2",))
PORTS = "gaudi3-scale-ports.service"


def package(name: str, version: str = "1.24.1-482", held: bool = True, status: str = "installed") -> Package:
    return Package(name, version, held, status)


def built(version: str = "1.24.1-482", kernel: str = KERNEL) -> DkmsEntry:
    return DkmsEntry("habanalabs", version, kernel, "x86_64", "installed", "")


def node_at(release: Release) -> DriverNode:
    """A node on which everything is at this release."""
    return DriverNode(
        running=KERNEL,
        kernels=(KERNEL,),
        packages={
            "dkms": package("dkms", "3.0.10", held=False),
            **{name: package(name, release.package_version) for name in NAMES},
        },
        dkms=(built(release.package_version),),
        headers=(KERNEL,),
        loaded=release.modules,
        loaded_version=f"{release.version}-b336d5e",
        files={"habanalabs": f"/lib/modules/{KERNEL}/updates/dkms/habanalabs.ko"},
        boot_list=boot_list(release),
        cards=8,
    )


GOOD = node_at(RELEASE)
VIRGIN = DriverNode(running=KERNEL, kernels=(KERNEL,), cards=8)
OTHER = node_at(OLD)
UPGRADE = replace(OPTIONS, reload=True)
WHOLE = [
    Step("keep", NAMES),
    Step("fetch", NAMES),
    Step("unload", MODULES[::-1]),
    Step("install", NAMES),
    Step("list", MODULES),
    Step("build", (KERNEL,)),
    Step("hold", NAMES),
    Step("load", MODULES),
    Step("verify", ("8",)),
]


def interrupted(node: DriverNode, state: str = CHANGING, stopped: tuple[str, ...] = ()) -> DriverNode:
    before = dict.fromkeys(NAMES, OLD.package_version)
    return replace(node, marker=Marker(state, OLD.package_version, RELEASE.package_version, "load", before, stopped, 8))


@pytest.mark.parametrize(
    ("options", "node", "expected"),
    [
        (OPTIONS, GOOD, []),
        (
            OPTIONS,
            VIRGIN,
            [
                Step("fetch", NAMES),
                Step("require", ("dkms", f"linux-headers-{KERNEL}")),
                Step("install", NAMES),
                Step("list", MODULES),
                Step("build", (KERNEL,)),
                Step("hold", NAMES),
                Step("load", MODULES),
            ],
        ),
        (replace(OPTIONS, hold=False), GOOD, [Step("unhold", NAMES)]),
        (replace(OPTIONS, load_modules=False), replace(GOOD, loaded=(), loaded_version=None), []),
        (OPTIONS, replace(GOOD, loaded=MODULES[:2]), [Step("load", MODULES[2:])]),
        (
            OPTIONS,
            replace(GOOD, kernels=(KERNEL, NEXT)),
            [Step("require", (f"linux-headers-{NEXT}",)), Step("build", (NEXT,))],
        ),
        (OPTIONS, replace(GOOD, kernels=(KERNEL, NEXT), headers=(KERNEL, NEXT)), [Step("build", (NEXT,))]),
        (OPTIONS, replace(GOOD, broken=("vim",)), [Step("repair", ("vim",))]),
        (OPTIONS, replace(GOOD, interrupted=True), [Step("repair", ("dpkg",))]),
        (OPTIONS, replace(GOOD, boot_list=None), [Step("list", MODULES)]),
        (UPGRADE, OTHER, WHOLE),
        (replace(UPGRADE, rollback=False), OTHER, WHOLE[1:]),
        (UPGRADE, GOOD, []),
        (replace(UPGRADE, cards=7), OTHER, [*WHOLE[:-1], Step("verify", ("7",))]),
        (
            replace(UPGRADE, stop_device_users=True),
            replace(OTHER, holders=(SERVICE, CONTAINER), ports_unit=PORTS),
            [
                *WHOLE[:2],
                Step("stop", (SERVICE.unit, CONTAINER.unit)),
                *WHOLE[2:-1],
                Step("ports", (PORTS,)),
                WHOLE[-1],
                Step("start", (SERVICE.unit, CONTAINER.unit)),
            ],
        ),
        # What an interrupted run had done is not done again; what cannot be seen on the node comes from its marker.
        (UPGRADE, interrupted(GOOD), [Step("keep", NAMES), Step("verify", ("8",))]),
        (
            UPGRADE,
            interrupted(replace(GOOD, loaded=(), loaded_version=None), stopped=("a.service",)),
            [Step("keep", NAMES), Step("load", MODULES), Step("verify", ("8",)), Step("start", ("a.service",))],
        ),
        (UPGRADE, interrupted(GOOD, ROLLED_BACK), []),
    ],
)
def test_the_steps_are_those_that_are_missing(options: DriverOptions, node: DriverNode, expected: list[Step]) -> None:
    assert plan(options, RELEASE, node) == expected


@pytest.mark.parametrize("node", [VIRGIN, OTHER, interrupted(OTHER), interrupted(GOOD, FAILED), GOOD])
def test_steps_are_taken_in_one_order_and_leave_nothing_to_do(node: DriverNode) -> None:
    options = replace(UPGRADE, stop_device_users=True)
    steps = plan(options, RELEASE, node)
    positions = [ORDER.index(step.action) for step in steps]
    assert positions == sorted(positions)
    assert plan(options, RELEASE, foresee(RELEASE, node, steps)) == []


@pytest.mark.parametrize(("old", "new"), list(itertools.permutations(RELEASES.values(), 2)))
def test_any_release_leads_to_any_other(old: Release, new: Release) -> None:
    """Every pair: unloaded in the order of what is loaded, loaded in the order of what is wanted, and verified."""
    node = node_at(old)
    steps = plan(replace(UPGRADE, release=new.version), new, node)
    taken = {step.action: step.names for step in steps}
    assert taken["unload"] == old.unload_order
    assert taken["load"] == new.modules
    assert taken["install"] == taken["keep"] == NAMES
    assert steps[-1] == Step("verify", ("8",))
    assert outcome(old, new, True) in ("upgraded", "downgraded")


def test_what_else_of_the_vendor_is_installed_goes_along() -> None:
    runtime = package("habanalabs-container-runtime", OLD.package_version)
    node = replace(OTHER, packages={**OTHER.packages, runtime.name: runtime})
    taken = {step.action: step.names for step in plan(UPGRADE, RELEASE, node)}
    assert taken["install"] == (*NAMES, runtime.name)
    assert Step("install", NAMES) in plan(replace(UPGRADE, others=False), RELEASE, node)


def test_half_a_package_that_is_replaced_anyway_is_not_repaired_first() -> None:
    half = package("habanalabs-dkms", RELEASE.package_version, status="half-configured")
    node = replace(OTHER, packages={**OTHER.packages, half.name: half}, broken=(half.name,))
    assert "repair" not in {step.action for step in plan(UPGRADE, RELEASE, node)}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (VIRGIN, None),
        (GOOD, RELEASE),
        (OTHER, OLD),
        (replace(OTHER, loaded=(), loaded_version=None), OLD),
        (replace(GOOD, loaded_version="1.23.0-2eae87a"), OLD),
        (interrupted(GOOD), OLD),
        (interrupted(GOOD, FAILED), OLD),
        (interrupted(GOOD, ROLLED_BACK), RELEASE),
    ],
)
def test_the_rollback_is_to_what_the_node_had_before_anything_was_begun(
    node: DriverNode, expected: Release | None
) -> None:
    assert previous_release(OPTIONS, node) == expected
    assert is_change(OPTIONS, RELEASE, node) == (expected == OLD)


@pytest.mark.parametrize(
    ("options", "node", "words"),
    [
        (OPTIONS, GOOD, []),
        (OPTIONS, VIRGIN, []),
        (OPTIONS, OTHER, ["release 1.23.0 is loaded", "upgrade_driver.yml", "reload: true"]),
        (replace(OPTIONS, load_modules=False), OTHER, []),
        (UPGRADE, OTHER, []),
        (
            UPGRADE,
            replace(OTHER, holders=(SERVICE,)),
            ["process 4711 (exporter) in gaudi-exporter.service", "or set stop_device_users: true"],
        ),
        (replace(UPGRADE, stop_device_users=True), replace(OTHER, holders=(SERVICE, CONTAINER)), []),
        (
            replace(UPGRADE, stop_device_users=True),
            replace(OTHER, holders=(SERVICE, SHELL)),
            ["held by process 4713 (python3) in session-3.scope: end them"],
        ),
        (UPGRADE, replace(OTHER, obstacle="the boot firmware is too old"), ["the boot firmware is too old"]),
        (
            replace(OPTIONS, os_packages=()),
            replace(VIRGIN, headers=()),
            [f"the headers of kernel {KERNEL} are missing (/lib/modules/{KERNEL}/build)"],
        ),
    ],
)
def test_what_stands_in_the_way_is_said_before_anything_is_done(
    options: DriverOptions, node: DriverNode, words: list[str]
) -> None:
    said = refusals(options, RELEASE, node)
    assert len(said) == bool(words)
    assert [word for word in words if word not in said[0]] == []


def test_jobs_that_run_now_do_not_stand_against_a_look_ahead() -> None:
    busy = replace(OTHER, holders=(SHELL,))
    assert refusals(UPGRADE, RELEASE, busy, check_mode=True) == []
    assert refusals(UPGRADE, RELEASE, busy) != []


def test_the_node_as_text_shows_packages_builds_holds_and_modules() -> None:
    assert describe(GOOD).splitlines() == [
        *(f"package: {name} 1.24.1-482" for name in NAMES),
        *(f"held: {name}" for name in NAMES),
        f"dkms: 1.24.1-482 installed for {KERNEL}",
        *(f"at boot: {name}" for name in MODULES),
        *(f"loaded: {name}" for name in MODULES),
        "loaded release: 1.24.1-b336d5e",
    ]


def test_a_package_that_is_half_installed_is_told_before_and_whole_after() -> None:
    half = package("habanalabs-dkms", RELEASE.package_version, status="half-configured")
    node = replace(GOOD, packages={**GOOD.packages, "habanalabs-dkms": half}, broken=("habanalabs-dkms",))
    assert "package: habanalabs-dkms 1.24.1-482 (half-configured)" in describe(node).splitlines()
    assert describe(foresee(RELEASE, node, plan(OPTIONS, RELEASE, node))) == describe(GOOD)
    assert describe(foresee(RELEASE, node, [Step("repair", ("habanalabs-dkms", "dpkg"))])) == describe(GOOD)


def test_another_loaded_release_is_reported() -> None:
    assert reload_required(OPTIONS, RELEASE, OTHER)
    assert not reload_required(replace(OPTIONS, load_modules=False), RELEASE, OTHER)


def test_a_foreign_module_and_a_replaced_build_are_warned_about() -> None:
    path = f"/lib/modules/{KERNEL}/kernel/drivers/accel/habanalabs/habanalabs.ko"
    notes = "WARNING! Diff between built and installed module!"
    found = warnings(replace(GOOD, files={"habanalabs": path}, dkms=(replace(built(), notes=notes),)))
    assert found == [
        f"modprobe would load {path}, which DKMS did not put there; remove that file or blacklist it.",
        f"The habanalabs 1.24.1-482 installed for kernel {KERNEL} is not what DKMS built: {notes}.",
    ]
    assert warnings(GOOD) == []


def test_the_steps_are_said_in_words() -> None:
    assert str(Step("build", (KERNEL,))) == f"build {KERNEL}"


LINK = Damage("dangling kernel link", "a link points nowhere: it is removed.", remove=("/var/lib/dkms/x",))
ASIDE = Damage("without package", "a tree of nobody is moved away.", set_aside=("/var/lib/dkms/y",))
LOST = Damage("without source", "habanalabs-dkms has to be installed again.", packages=("habanalabs-dkms",))
BY_HAND = Damage("by hand", "habanalabs 9 was added to DKMS manually and is left alone.", "9")
BARRIER = "Secure Boot is on and the firmware does not trust /mok/m.der: run this."
SETTINGS = WantedFile("/etc/dkms/framework.conf.d/gaudi3_scale.conf", "x")
TO_SIGN = Signing(files=(SETTINGS,), enroll="/mok/m.der")
SIGN = Step("sign", (SETTINGS.path, "/mok/m.der"))
META = {"linux-generic": package("linux-generic", "6.8", held=False), "linux-aws": package("linux-aws", "6.8")}
WITH_META = replace(GOOD, packages={**GOOD.packages, **META}, kernel_packages=sorted(META))


def actions(options: DriverOptions, node: DriverNode) -> list[str]:
    return [step.action for step in plan(options, RELEASE, node)]


def test_a_damaged_tree_is_mended_and_signing_prepared_before_anything_else() -> None:
    assert tuple(ORDER[: len(PREPARING)]) == PREPARING
    steps = plan(UPGRADE, RELEASE, replace(OTHER, damages=(LINK, ASIDE, LINK, BY_HAND), signing=TO_SIGN))
    assert steps == [Step("mend", (LINK.sentence, ASIDE.sentence)), SIGN, *WHOLE]


def test_what_nobody_but_its_owner_may_mend_is_only_told() -> None:
    node = replace(GOOD, damages=(BY_HAND,))
    assert plan(OPTIONS, RELEASE, node) == []
    assert warnings(node) == [BY_HAND.sentence]
    assert describe(node) == describe(GOOD)
    assert warnings(replace(GOOD, damages=(LINK, ASIDE, LOST))) == []


def test_a_package_whose_source_is_lost_is_installed_again() -> None:
    node = replace(GOOD, damages=(LOST,))
    steps = plan(OPTIONS, RELEASE, node)
    assert steps == [Step("fetch", LOST.packages), Step("install", LOST.packages), Step("hold", LOST.packages)]
    assert plan(OPTIONS, RELEASE, foresee(RELEASE, node, steps)) == []
    (change,) = difference(node, foresee(RELEASE, node, steps))
    assert set(change["before"].splitlines()) - set(change["after"].splitlines()) == {f"damaged: {LOST.sentence}"}


@pytest.mark.parametrize("preparing", [False, True])
def test_a_first_installation_behind_the_barrier_is_built_and_not_loaded(preparing: bool) -> None:
    signing = replace(TO_SIGN if preparing else Signing(), barrier=BARRIER)
    node = replace(VIRGIN, signing=signing)
    assert refusals(OPTIONS, RELEASE, node) == []
    steps = ["fetch", "require", "install", "list", "build", "hold"]
    assert actions(OPTIONS, node) == (["sign", *steps] if preparing else steps)
    assert warnings(node) == [BARRIER]


def test_a_change_of_release_behind_the_barrier_is_refused() -> None:
    node = replace(OTHER, signing=Signing(barrier=BARRIER))
    assert refusals(UPGRADE, RELEASE, node) == [BARRIER.rstrip(".")]
    assert refusals(UPGRADE, RELEASE, node, check_mode=True) == [BARRIER.rstrip(".")]
    # What is loaded already stays loaded.
    assert refusals(OPTIONS, RELEASE, replace(GOOD, signing=Signing(barrier=BARRIER))) == []
    assert plan(OPTIONS, RELEASE, replace(GOOD, signing=Signing(barrier=BARRIER))) == []


def test_a_change_of_release_behind_the_barrier_prepares_what_it_can_and_touches_nothing_else() -> None:
    node = replace(OTHER, signing=replace(TO_SIGN, barrier=BARRIER), damages=(LINK,), boot_list=None)
    assert refusals(UPGRADE, RELEASE, node) == []
    steps = plan(UPGRADE, RELEASE, node)
    assert steps == [Step("mend", (LINK.sentence,)), SIGN]
    assert refusals(UPGRADE, RELEASE, foresee(RELEASE, node, steps)) == [BARRIER.rstrip(".")]


def test_a_driver_that_is_not_signed_with_the_key_is_built_again() -> None:
    node = replace(GOOD, kernels=(KERNEL, NEXT), dkms=(built(), built(kernel=NEXT)), headers=(KERNEL, NEXT))
    unsigned = replace(node, signing=Signing(unsigned=(NEXT,)))
    steps = plan(OPTIONS, RELEASE, unsigned)
    assert steps == [Step("build", (NEXT,))]
    assert plan(OPTIONS, RELEASE, foresee(RELEASE, unsigned, steps)) == []
    assert f"signed with another key or none: kernel {NEXT}" in describe(unsigned).splitlines()
    assert refusals(replace(OPTIONS, os_packages=()), RELEASE, replace(unsigned, headers=(KERNEL,))) != []


def test_kernels_are_held_only_where_that_was_asked_for_and_never_let_go() -> None:
    holding = replace(OPTIONS, hold_kernel=True)
    steps = plan(holding, RELEASE, WITH_META)
    assert steps == [Step("hold", ("linux-generic",))]
    assert plan(holding, RELEASE, foresee(RELEASE, WITH_META, steps)) == []
    assert plan(OPTIONS, RELEASE, WITH_META) == []
    assert plan(replace(OPTIONS, hold=False), RELEASE, WITH_META) == [Step("unhold", NAMES)]
    assert plan(replace(holding, hold=False), RELEASE, WITH_META) == [
        Step("unhold", NAMES),
        Step("hold", ("linux-generic",)),
    ]


def test_held_kernels_are_shown_among_the_holds() -> None:
    assert [line for line in describe(WITH_META).splitlines() if line.startswith("held: ")] == [
        *(f"held: {name}" for name in NAMES),
        "held: linux-aws",
    ]


def test_a_kernel_that_would_load_another_module_is_told_to_prefer_dkmss() -> None:
    node = replace(GOOD, shadowed=(KERNEL,))
    steps = plan(OPTIONS, RELEASE, node)
    assert steps == [Step("prefer", (KERNEL,))]
    assert plan(OPTIONS, RELEASE, foresee(RELEASE, node, steps)) == []
    assert ORDER.index("build") < ORDER.index("prefer") < ORDER.index("load")


def test_the_node_as_text_shows_what_is_to_be_mended_prepared_and_preferred() -> None:
    node = replace(
        GOOD,
        damages=(LINK, BY_HAND, LOST),
        signing=replace(TO_SIGN, unsigned=(NEXT,), barrier=BARRIER),
        shadowed=(KERNEL,),
    )
    new = set(describe(node).splitlines()) - set(describe(GOOD).splitlines())
    assert new == {
        f"damaged: {LINK.sentence}",
        f"damaged: {LOST.sentence}",
        f"to prepare for signing: {SETTINGS.path}",
        "to prepare for signing: /mok/m.der",
        f"signed with another key or none: kernel {NEXT}",
        f"not preferred: what DKMS built for {KERNEL}",
    }
    (change,) = difference(node, GOOD)
    assert (change["before"], change["after"]) == (describe(node), describe(GOOD))
    assert difference(GOOD, replace(GOOD, cards=7)) == []


def test_notes_and_the_barrier_are_warnings() -> None:
    node = replace(GOOD, signing=Signing(barrier=BARRIER, notes=("choose 'Enroll MOK'.",)))
    assert warnings(node) == ["choose 'Enroll MOK'.", BARRIER]
