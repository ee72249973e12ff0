# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""HCCL's wrapper on a node with EFA: built against the installer's own libfabric, and again where that is another."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import options_of
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.wrapper_plan import WrapperOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest

from tests.unit.plugins.module_utils._fabric.efa.efa_node import Node, archive, member

# What the vendor's asks of LIBFABRIC_ROOT.
MAKEFILE = """\
make:
\ttest -e $(LIBFABRIC_ROOT)/lib/libfabric.so && test -e $(LIBFABRIC_ROOT)/include/rdma/fabric.h
\techo "wrapper of $$(cat $(LIBFABRIC_ROOT)/lib/libfabric.so)" > libhccl_ofi_wrapper.so
"""
# What Amazon's installer brings, with the libraries where RHEL has them.
LIBFABRIC = """\
mkdir -p {prefix}/include/rdma {prefix}/{lib}
touch {prefix}/include/rdma/fabric.h {prefix}/{lib}/libfabric.so.1
echo "$EFA_INSTALLER_VERSION" > {prefix}/{lib}/libfabric.so
"""
TARGET = "usr/lib/habanalabs/libhccl_ofi_wrapper.so"


class Dl1(Node):
    """A node whose installer brings libfabric, and the sources of a miniature of HCCL's wrapper."""

    def __init__(self, root: Path, makefile: str = MAKEFILE, lib: str = "lib64") -> None:
        self.prefix, self.lib, self.loads = root / "node/opt/amazon/efa", lib, "libfabric.so.1 => {} (0x00007f)"
        self.wrapper = WrapperOptions()
        super().__init__(root)
        self.sources(makefile)

    def make(self, version: str = "1.34.0", more: str = "", named: str | None = None) -> None:
        super().make(version, more + LIBFABRIC.format(prefix=self.prefix, lib=self.lib), named)
        self.given["wrapper"] = self.wrapper

    def sources(self, makefile: str) -> None:
        file = archive(self.site / "hccl_ofi_wrapper.tar.gz", member("hccl_ofi_wrapper-1/Makefile", makefile))
        checksum = f"sha256:{file_digest(file, 'sha256')}"
        self.wrapper = WrapperOptions("/srv/hccl_ofi_wrapper.tar.gz", checksum, str(file))
        self.given["wrapper"] = self.wrapper

    def run(self, argv: Sequence[str], **how: Any) -> CommandResult:
        if argv[0] == "ldd":
            library = self.prefix / self.lib / "libfabric.so.1"
            return CommandResult(0, f"\t{self.loads.format(library)}\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n", "")
        return CommandResult(0, "", "") if list(argv) == ["ldconfig"] else super().run(argv, **how)

    @property
    def target(self) -> Path:
        return self.root / TARGET


@pytest.fixture
def node(tmp_path: Path) -> Dl1:
    return Dl1(tmp_path)


@pytest.mark.parametrize("lib", ["lib", "lib64"])
def test_it_is_built_of_amazon_s_libfabric_and_the_second_run_changes_nothing(tmp_path: Path, lib: str) -> None:
    node = Dl1(tmp_path, lib=lib)
    shown = node.converge(check_mode=True)
    assert shown["changed"] and not node.target.exists() and shown["efa"]["wrapper"] is None
    words = f"libhccl_ofi_wrapper.so of {node.wrapper.checksum[:19]} for EFA 1.34.0"
    assert [one["after"] for one in shown["diff"]] == ["1.34.0\n", f"{words}\n"]
    assert shown["diff"][1]["after_header"] == str(node.target) and shown["diff"][1]["before"] == ""

    result = node.converge()
    assert result["changed"] and result["diff"] == shown["diff"] and result["efa"]["wrapper"] == words
    assert node.target.read_text(encoding="utf-8") == "wrapper of 1.34.0\n"
    assert stat.S_IMODE(node.target.stat().st_mode) == 0o755
    assert node.state() == ["left_out", "ofi_wrapper.json"]
    assert "plug-in" not in [check["name"] for check in result["coherence"] if not check["ok"]]

    # The sources are not needed any more.
    again = node.converge(wrapper=WrapperOptions(node.wrapper.archive, node.wrapper.checksum))
    assert not again["changed"] and again["diff"] == [] and again["efa"]["wrapper"] == words
    assert not node.converge(check_mode=True)["changed"]


def test_another_efa_or_other_sources_have_it_built_again(node: Dl1) -> None:
    node.converge()
    node.make("1.35.0")
    newer = node.converge()
    assert [one["before"].split()[-1] for one in newer["diff"]] == ["1.34.0", "1.34.0"]
    assert node.target.read_text(encoding="utf-8") == "wrapper of 1.35.0\n"
    node.sources(MAKEFILE + "# another\n")
    assert [one["after_header"] for one in node.converge()["diff"]] == [str(node.target)]
    node.target.write_text("of somebody else", encoding="utf-8")
    repaired = node.converge()
    assert repaired["diff"][0]["before"] == "libhccl_ofi_wrapper.so of another origin\n"
    assert node.target.read_text(encoding="utf-8") == "wrapper of 1.35.0\n" and len(node.calls) == 2


def test_a_node_without_the_sources_asks_before_the_installer_runs(node: Dl1) -> None:
    with pytest.raises(GaudiError) as asked:
        node.converge(wrapper=WrapperOptions(node.wrapper.archive, node.wrapper.checksum))
    assert asked.value.facts == {"missing_ofi_wrapper_archive": "/srv/hccl_ofi_wrapper.tar.gz"}
    assert node.calls == []


def test_without_an_archive_what_a_site_has_put_there_stays(node: Dl1) -> None:
    node.target.parent.mkdir(parents=True)
    node.target.write_text("of the site", encoding="utf-8")
    node.converge(wrapper=WrapperOptions())
    assert node.target.read_text(encoding="utf-8") == "of the site" and node.state() == ["left_out"]


@pytest.mark.parametrize(
    ("makefile", "loads", "words"),
    [
        ("make:\n\t@echo 'x.cpp:1: error: no fi_getinfo' >&2; exit 1\n", "{}", "ended with 2: x.cpp:1: error: no fi_"),
        ("make:\n\t@true\n", "libfabric.so.1 => {}", "left no libhccl_ofi_wrapper.so that loads libfabric"),
        (MAKEFILE, "statically linked", "left no libhccl_ofi_wrapper.so that loads libfabric"),
    ],
)
def test_a_build_that_fails_leaves_no_wrapper_and_can_be_run_again(
    tmp_path: Path, makefile: str, loads: str, words: str
) -> None:
    node = Dl1(tmp_path, makefile)
    node.loads = loads
    with pytest.raises(GaudiError) as failed:
        node.converge()
    assert words in str(failed.value) and "\n" not in str(failed.value), str(failed.value)
    assert not node.target.exists() and node.state() == ["left_out"]
    node.sources(MAKEFILE)
    node.loads = "libfabric.so.1 => {} (0x1)"
    assert node.converge()["changed"] and node.target.exists() and len(node.calls) == 1


def test_a_run_that_was_cut_off_behind_the_build_begins_anew(node: Dl1) -> None:
    node.converge()
    kept = node.place.state / "ofi_wrapper.json"
    assert json.loads(kept.read_text(encoding="utf-8"))["sha256"] == file_digest(node.target, "sha256")
    kept.unlink()
    (node.place.state / "ofi-wrapper-build").mkdir()
    assert node.converge()["changed"] and node.state() == ["left_out", "ofi_wrapper.json"]


def test_an_installer_without_libfabric_s_headers_is_named(node: Dl1) -> None:
    Node.make(node)
    node.given["wrapper"] = node.wrapper
    with pytest.raises(GaudiError, match=r"lacks libfabric\.so or include/rdma/fabric\.h; install another"):
        node.converge()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"installer_options": ("--minimal",)}, "given with --minimal, which leaves out the libfabric"),
        ({"version": "", "archive": "", "checksum": ""}, "is not on this node; set gaudi_fabric_efa_version"),
        ({"wrapper": WrapperOptions("/srv/w.tar.gz", "sha256:1")}, "gaudi_fabric_ofi_wrapper_checksum is 'sha256:1'"),
        (
            {"wrapper": WrapperOptions("w.tar.gz", f"sha256:{'0' * 64}")},
            "ofi_wrapper_archive is 'w.tar.gz'",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_there(node: Dl1, given: dict[str, Any], words: str) -> None:
    with pytest.raises(GaudiError) as refused:
        node.converge(**given)
    assert words in str(refused.value) and node.calls == [] and not node.place.state.exists()


def test_sources_with_another_checksum_are_not_unpacked(node: Dl1) -> None:
    wrong = WrapperOptions(node.wrapper.archive, f"sha256:{'0' * 64}", node.wrapper.archive_file)
    with pytest.raises(GaudiError, match="gaudi_fabric_ofi_wrapper_checksum is another one; nothing was unpacked"):
        node.converge(wrapper=wrong)
    assert not node.target.exists()


def test_the_packages_of_the_build_are_those_of_the_node_s_package_manager() -> None:
    given = {
        "release": "1.21.3",
        "installer_options": ["--skip-kmod"],
        "plain_http_hosts": [],
        "ofi_wrapper_archive": "/srv/w.tar.gz",
        "ofi_wrapper_checksum": "sha256:1",
        "ofi_wrapper_archive_file": "",
        "ofi_wrapper_build_packages": {"apt": ["g++"], "dnf": ["gcc-c++"]},
    }
    assert options_of(given, "dnf").wrapper == WrapperOptions("/srv/w.tar.gz", "sha256:1", "", ("gcc-c++",))
    assert options_of({**given, "ofi_wrapper_build_packages": {}}, "apt").wrapper.build_packages == ()
