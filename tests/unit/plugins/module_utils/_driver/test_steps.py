# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What single steps of a change of the driver do on a node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver import dkms_repair
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node import kernel_modules
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import Holder
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.unit.played_node import KERNEL, PACKAGES, SIGNING, PlayedNode

MODULES = find_release("1.24.1").modules
UPGRADE: dict[str, Any] = {"release": "1.24.1", "reload": True}
PORTS = "gaudi3-scale-ports.service"


@pytest.fixture(autouse=True)
def _no_dkms_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be building modules of its own."""
    monkeypatch.setattr(dkms_repair, "working", lambda *_: [])


class Node(PlayedNode):
    """Rehearsals of apt fail while ``stale`` is above 0; dkms in a package's script fails with ``log``.

    So it does in that of other headers. Otherwise the script does nothing, or builds the driver (without the key) where
    ``script_builds`` says so.
    """

    stale = 0
    log = ""
    script_builds = False

    def apt(self, words: Sequence[str]) -> CommandResult:
        if "--download-only" in words and self.stale:
            self.stale -= 1
            return CommandResult(100, "", "E: Failed to fetch dkms_3.0.10 404 Not Found")
        done = super().apt(words)
        if self.log and words[-1].endswith(".deb") and "--download-only" not in words:
            return self.script_fails(Path(words[-1]).name.split("_")[1])
        if self.log and words[-1].startswith("linux-headers-") and "--download-only" not in words:
            return self.script_fails(self.source())
        if self.script_builds and words[-1].endswith(".deb") and "--download-only" not in words:
            self.built.add((self.source(), KERNEL))
        return done

    def script_fails(self, version: str) -> CommandResult:
        """What dkms leaves of a build that failed, and what apt says of it."""
        directory = self.root / "var/lib/dkms/habanalabs" / version
        (directory / "build").mkdir(parents=True)
        (directory / "source").symlink_to(self.root / f"usr/src/habanalabs-{version}")
        (directory / "build/make.log").write_text(self.log)
        self.owners[f"/usr/src/habanalabs-{version}/dkms.conf"] = "habanalabs-dkms"
        self.log = ""
        return CommandResult(100, "", "E: Sub-process /usr/bin/dpkg returned an error code (1)")

    def programs(self) -> list[str]:
        """The commands that changed something, by their first two words without options."""
        return [" ".join([word for word in command if not word.startswith("-")][:2]) for command in self.commands]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def old(node: Node) -> Node:
    """A node that has 1.23.0."""
    node.converge(release="1.23.0")
    return node


def test_lists_that_are_older_than_the_mirror_are_read_anew(node: Node) -> None:
    node.packages.clear()
    node.stale = 1
    steps = node.converge()["steps"]
    assert [step.split()[0] for step in steps[:3]] == ["fetch", "require", "install"]
    _download, first, update, second, rehearsal, installation = node.commands[:6]
    assert "--download-only" in first
    assert update[:3] == ["apt-get", "-q", "update"]
    assert second == first
    assert "dkms" in rehearsal
    assert installation[-1] == "dkms"
    assert "--download-only" in rehearsal
    assert "--download-only" not in installation


def test_what_apt_cannot_get_stops_it_before_anything_is_touched(old: Node) -> None:
    before, marker = old.state(), old.root / "var/lib/gaudi3_scale/driver.json"
    marker.unlink()
    old.stale = 2
    with pytest.raises(GaudiError, match=r"cannot be installed: E: Failed to fetch dkms_3\.0\.10 404") as caught:
        old.converge(**UPGRADE)
    assert "state" not in caught.value.facts
    assert old.state() == before
    assert not marker.exists()


def test_a_build_that_fails_in_the_packages_script_is_told_by_its_log(old: Node) -> None:
    before = old.state()
    old.log = "CC x.o\nx.c:7:3: error: implicit declaration of function 'foo'\nmake: *** [x.o] Error 1\n"
    with pytest.raises(
        GaudiError, match=r"back on 1\.23\.0.*cannot build .* 1\.24\.1-482 .*implicit declaration"
    ) as caught:
        old.converge(**UPGRADE)
    assert str(caught.value.facts["build_log"]).endswith("var/log/gaudi3_scale/dkms-1.24.1-482-6.8.0-45-generic.log")
    assert caught.value.facts["state"] == "rolled_back"
    assert old.state() == before


def test_a_package_that_fails_otherwise_is_told_by_apt(old: Node) -> None:
    old.breaks_once = {"apt-get install /": CommandResult(100, "", "E: No space left on device")}
    with pytest.raises(GaudiError, match=r"Release 1\.24\.1-482: .*E: No space left on device") as caught:
        old.converge(**UPGRADE)
    assert "build_log" not in caught.value.facts


def test_a_driver_that_does_not_build_for_the_kernel_of_new_headers_is_told_by_its_log(old: Node) -> None:
    """Their package has DKMS build what is there, and fails with it: apt knows no more than that."""
    before, kernel = old.state(), "6.12.117+deb12-amd64"
    old.log = (
        f"DKMS make.log for habanalabs-1.23.0-695 for kernel {kernel} (x86_64)\n"
        "/b/device.c:10:10: fatal error: uapi/misc/habanalabs.h: No such file or directory\n"
    )
    first = r"\(/b/device\.c:10:10: fatal error: uapi/misc/habanalabs\.h: .*\): boot"
    with pytest.raises(GaudiError, match=first) as caught:
        old.converge(release="1.23.0", os_packages=("dkms", f"linux-headers-{kernel}"))
    assert str(caught.value).startswith(f"DKMS cannot build habanalabs 1.23.0-695 for kernel {kernel} (")
    assert "state" not in caught.value.facts
    assert old.state() == before


@pytest.fixture
def kernels_own(node: Node) -> Node:
    """A node where udev has loaded the kernel's own driver, which tells no version."""
    node.loaded = ["habanalabs"]
    node.show_kernel()
    return node


def test_the_kernel_s_own_driver_makes_room_for_the_release_s(kernels_own: Node) -> None:
    foretold = kernels_own.converge(check_mode=True)
    assert "loaded release: unknown\n" in foretold["diff"][0]["before"]
    steps = [step.split()[0] for step in foretold["steps"]]
    assert steps.index("unload") < steps.index("install") < steps.index("load") < steps.index("verify")
    done = kernels_own.converge()
    assert (done["state"], done["loaded_version"]) == ("installed", "1.24.1-abcdef")
    assert ["rmmod", "habanalabs"] in kernels_own.commands
    assert set(kernels_own.loaded) == set(MODULES)
    assert not kernels_own.converge()["changed"]


def test_the_kernel_s_own_driver_stays_where_somebody_has_a_card_open(kernels_own: Node, monkeypatch: Any) -> None:
    holder = Holder(4711, "python3", "", ("accel0",))
    monkeypatch.setattr(kernel_modules, "find_holders", lambda *_: [holder])
    with pytest.raises(GaudiError, match=r"cards are held by process 4711 \(python3\)"):
        kernels_own.converge()
    assert kernels_own.loaded == ["habanalabs"]


def test_package_files_of_this_release_and_of_the_rollback_are_kept_and_no_others(old: Node) -> None:
    kept = old.root / "var/lib/gaudi3_scale/packages"
    (kept / "1.22.0-740").mkdir()
    old.converge(**UPGRADE)
    assert sorted(path.name for path in kept.iterdir()) == ["1.23.0-695", "1.24.1-482"]
    assert sorted(path.name for path in (kept / "1.23.0-695").glob("*.deb")) == [
        f"{name}_1.23.0-695_all.deb" for name in PACKAGES
    ]


def test_ports_come_up_before_the_node_is_judged_and_services_start_after_it(old: Node, monkeypatch: Any) -> None:
    exporter = Holder(4711, "exporter", "gaudi-exporter.service", ("accel0",))
    old.active_units.add(exporter.unit)
    old.enabled_units.add(PORTS)
    monkeypatch.setattr(
        kernel_modules, "find_holders", lambda *_: [exporter] if exporter.unit in old.active_units else []
    )
    steps = old.converge(**UPGRADE, stop_device_users=True)["steps"]
    assert steps[-3:] == [f"ports {PORTS}", "verify 8", f"start {exporter.unit}"]
    assert [command[1:] for command in old.commands if command[0] == "systemctl"] == [
        ["stop", exporter.unit],
        ["restart", PORTS],
        ["start", exporter.unit],
    ]
    assert old.programs().index("systemctl stop") < old.programs().index("rmmod habanalabs_ib")


def test_a_service_that_does_not_start_again_is_told_and_the_driver_stays(old: Node, monkeypatch: Any) -> None:
    exporter = Holder(4711, "exporter", "gaudi-exporter.service", ("accel0",))
    old.active_units.add(exporter.unit)
    monkeypatch.setattr(
        kernel_modules, "find_holders", lambda *_: [exporter] if exporter.unit in old.active_units else []
    )
    old.breaks = {f"systemctl start {exporter.unit}": CommandResult(1, "", "Unit is masked.")}
    result = old.converge(**UPGRADE, stop_device_users=True)
    assert (result["state"], old.driver) == ("upgraded", "1.24.1")
    assert result["not_started"] == [
        "systemctl start gaudi-exporter.service failed: Unit is masked; start it manually, and run again."
    ]
    assert result["not_started"][0] in result["warnings"]


def test_without_a_rollback_a_failure_stays_where_it_is(old: Node) -> None:
    old.breaks_once = {"dkms install": CommandResult(10, "", "Error! Bad return status")}
    with pytest.raises(GaudiError, match=r"^DKMS cannot install habanalabs 1\.24\.1-482") as caught:
        old.converge(**UPGRADE, rollback=False)
    assert "state" not in caught.value.facts
    assert old.source() == "1.24.1-482"
    assert not any("1.23.0-695" in word for command in old.commands for word in command)
    assert old.converge(**UPGRADE)["loaded_version"] == "1.24.1-abcdef"


def test_a_driver_that_was_built_without_the_key_is_built_again_with_it(node: Node) -> None:
    node.converge()
    promised = node.converge(check_mode=True, **SIGNING)
    assert node.commands == []
    done = node.converge(**SIGNING)
    assert done["steps"] == promised["steps"]
    assert [step.split()[0] for step in done["steps"]] == ["sign", "build"]
    assert f"signed with another key or none: kernel {KERNEL}" in done["diff"][0]["before"]
    assert "signed with another key or none" not in done["diff"][0]["after"]
    assert done["diff"] == promised["diff"]
    assert [command[:2] for command in node.commands] == [["dkms", "remove"], ["dkms", "install"]]
    assert node.loaded == list(MODULES)
    assert not node.converge(**SIGNING)["changed"]


def test_a_build_that_dkms_does_not_sign_is_a_failure(node: Node, monkeypatch: Any) -> None:
    monkeypatch.setattr(node, "signed", frozenset())
    monkeypatch.setattr(node, "build", lambda _program, words: node.built.add(("1.24.1-482", KERNEL)))
    with pytest.raises(GaudiError, match=f"DKMS did not sign the driver for kernel {KERNEL} with /mok/m.der"):
        node.converge(**SIGNING)
    assert node.loaded == []


def test_kernels_are_held_once_and_never_let_go(node: Node) -> None:
    for name in ("linux-generic", "linux-image-generic", "linux-image-6.8.0-45-generic", "linux-firmware"):
        node.packages[name] = ("6.8", "installed")
    node.packages["linux-headers-generic"] = ("6.8", "config-files")
    node.held.add("linux-image-generic")
    node.converge()
    assert sorted(node.held) == [*PACKAGES, "linux-image-generic"]
    promised = node.converge(check_mode=True, hold_kernel=True)
    assert (node.commands, sorted(node.held)) == ([], [*PACKAGES, "linux-image-generic"])
    done = node.converge(hold_kernel=True)
    assert promised["steps"] == done["steps"] == ["hold linux-generic"]
    assert promised["diff"] == done["diff"]
    assert node.commands == [["apt-mark", "hold", "linux-generic"]]
    assert "held: linux-generic\n" in done["diff"][0]["after"]
    assert done["held"] == [*PACKAGES, "linux-generic", "linux-image-generic"]
    assert not node.converge(hold_kernel=True)["changed"]
    left = node.converge()
    assert (left["changed"], left["held"]) == (False, list(PACKAGES))
    node.converge(hold=False)
    assert sorted(node.held) == ["linux-generic", "linux-image-generic"]


def test_what_dkms_built_comes_before_a_module_of_the_kernels_own(node: Node) -> None:
    node.converge()
    module = node.root / f"lib/modules/{KERNEL}/updates/dkms/habanalabs.ko"
    module.parent.mkdir(parents=True)
    module.touch()
    node.owners = {f"/lib/modules/{KERNEL}/updates/dkms/habanalabs.ko": "nobody's"}
    node.in_tree = True
    file = node.root / "etc/depmod.d/gaudi3_scale.conf"
    promised = node.converge(check_mode=True)
    assert (node.commands, file.exists()) == ([], False)
    done = node.converge()
    assert promised["steps"] == done["steps"] == [f"prefer {KERNEL}"]
    assert f"not preferred: what DKMS built for {KERNEL}" in done["diff"][0]["before"]
    assert promised["diff"] == done["diff"]
    assert node.commands == [["depmod", KERNEL]]
    assert file.read_text().splitlines()[1:] == ["override habanalabs * updates/dkms"]
    assert done["warnings"] == []
    assert not node.converge()["changed"]


def test_what_is_half_installed_is_finished(node: Node) -> None:
    node.converge()
    node.packages["vim"] = ("9", "half-configured")
    assert node.converge()["steps"] == ["repair vim"]
    assert node.commands == [["dpkg", "--force-confdef", "--force-confold", "--configure", "vim"]]
    assert not node.converge()["changed"]


@pytest.mark.parametrize(
    ("signing", "commands"), [({}, []), (SIGNING, [["dkms", "remove"], ["dkms", "install"]])], ids=["plain", "signed"]
)
def test_what_the_packages_script_has_built_is_built_again_only_for_the_key(
    node: Node, signing: dict[str, str], commands: list[list[str]]
) -> None:
    node.script_builds = True
    assert f"build {KERNEL}" in node.converge(**signing)["steps"]
    assert [command[:2] for command in node.commands if command[0] == "dkms"] == commands
    assert node.loaded == list(MODULES)


def test_what_the_packages_script_left_half_way_is_cleared_before_the_build(old: Node, monkeypatch: Any) -> None:
    install = old.apt

    def leave_half(words: Sequence[str]) -> CommandResult:
        done = install(words)
        if words[-1].endswith(".deb") and "--download-only" not in words:
            old.script_fails("1.24.1-482")
        return done

    def build(program: str, words: Sequence[str]) -> None:
        assert not (old.root / "var/lib/dkms/habanalabs/1.24.1-482/build").exists()
        PlayedNode.build(old, program, words)

    monkeypatch.setattr(old, "apt", leave_half)
    monkeypatch.setattr(old, "build", build)
    assert old.converge(**UPGRADE)["state"] == "upgraded"


def test_a_first_build_comes_before_a_module_of_the_kernels_own_at_once(node: Node, monkeypatch: Any) -> None:
    module = f"/lib/modules/{KERNEL}/updates/dkms/habanalabs.ko"
    node.in_tree = True
    node.owners = {module: "nobody's"}

    def build(program: str, words: Sequence[str]) -> None:
        file = node.root / module.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        PlayedNode.build(node, program, words)

    monkeypatch.setattr(node, "build", build)
    node.converge()
    assert not node.in_tree
    programs = node.programs()
    assert programs.index(f"depmod {KERNEL}") < programs.index(f"modprobe {MODULES[0]}")
    assert not node.converge()["changed"]


def test_going_back_needs_nothing_of_the_repository_and_stops_what_has_come_up_since(
    old: Node, monkeypatch: Any
) -> None:
    """A package that came with the new release has no older version to go back to, and no file of one."""
    del old.packages["habanalabs-qual"]
    (old.root / "var/lib/gaudi3_scale/packages/1.23.0-695/habanalabs-qual_1.23.0-695_all.deb").unlink()
    old.offered.remove("1.23.0-695")
    old.lost_with = "1.24.1"
    started = Holder(4711, "exporter", "gaudi-exporter.service", ("accel0",))
    monkeypatch.setattr(kernel_modules, "find_holders", lambda *_: [started] if old.driver == "1.24.1" else [])
    with pytest.raises(GaudiError, match=r"back on 1\.23\.0, verified\. .*cards: found 7"):
        old.converge(**UPGRADE)
    assert old.packages["habanalabs-dkms"] == ("1.23.0-695", "installed")
    assert (old.driver, old.loaded) == ("1.23.0", list(find_release("1.23.0").modules))
    assert [command[1:] for command in old.commands if command[0] == "systemctl"] == [
        ["stop", started.unit],
        ["start", started.unit],
    ]
