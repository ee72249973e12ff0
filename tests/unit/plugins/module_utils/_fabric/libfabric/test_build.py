# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A library built, kept, brought to another node and put in its place: by a miniature of libfabric's sources."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric import install as libfabric_install
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric.build import BuildPlace, Sources, build
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric.install import (
    LibraryPlace,
    install,
    installed,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.libfabric.plan import PREFIX, LibfabricOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.digests import file_digest

CONFIGURE = """\
#!/bin/sh
echo "configured with $*"
case "$*" in *--with-synapseai=no*) synapse=0 ;; *) synapse=1 ;; esac
printf '#define HAVE_VERBS 1\n#define HAVE_TCP 1\n#define HAVE_SYNAPSEAI %s\n' "$synapse" > config.h
"""
MAKEFILE = """\
all:
	@echo compiled
install-strip:
	mkdir -p $(DESTDIR)PREFIX/bin $(DESTDIR)PREFIX/lib
	printf '#!/bin/sh\\necho libfabric: 1.22.0\\n' > $(DESTDIR)PREFIX/bin/fi_info
	chmod 755 $(DESTDIR)PREFIX/bin/fi_info
	echo elf > $(DESTDIR)PREFIX/lib/libfabric.so.1.2
	ln -s libfabric.so.1.2 $(DESTDIR)PREFIX/lib/libfabric.so.1
"""
LIBRARY = {
    "configure.ac": "AC_INIT([libfabric], [1.22.0], [x])\n",
    "configure": CONFIGURE,
    "Makefile": MAKEFILE.replace("PREFIX", PREFIX),
}
WRAPPER = {
    "Makefile": "all:\n\ttest -e $(LIBFABRIC_ROOT)/lib/libfabric.so.1\n\techo wrapper > libhccl_ofi_wrapper.so\n"
}
KEY = "0123456789abcdef0123"


def archive_of(path: Path, files: Mapping[str, str]) -> str:
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            member = tarfile.TarInfo(f"libfabric-1.22.0/{name}")
            member.size = len(text.encode())
            made.addfile(member, io.BytesIO(text.encode()))
    return str(path)


class Node:
    """A node's directories below ``root``, its commands, and what the controller brought to it."""

    def __init__(self, root: Path, library: Mapping[str, str] = LIBRARY, wrapper: Mapping[str, str] = WRAPPER) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        (root / "into").mkdir()
        self.sources = Sources(archive_of(root / "l.tar.gz", library), archive_of(root / "w.tar.gz", wrapper))
        checksums = [f"sha256:{file_digest(Path(file), 'sha256')}" for file in self.sources.__dict__.values()]
        self.options = LibfabricOptions(
            "/srv/libfabric.tar.gz", checksums[0], "1.22.0", False, str(root / "usr"),
            wrapper_archive="/srv/wrapper.tar.gz", wrapper_checksum=checksums[1],
        )  # fmt: skip
        self.library = LibraryPlace(str(root))
        self.loader: list[Sequence[str]] = []

    def run(self, argv: Sequence[str], **how: Any) -> CommandResult:
        if argv[0] == "ldconfig":
            self.loader.append(argv)
            return CommandResult(0, "", "")
        return run_process(argv, **how)

    def build(self, **change: Any) -> dict[str, Any]:
        place = BuildPlace(str(self.root), str(self.root / "state"), str(self.root / "log/build.log"))
        return build(replace(self.options, **change), KEY, self.sources, str(self.root / "into"), self.run, place)

    def files(self) -> set[str]:
        """All but what the test itself put there, and the locks, which are empty files that stay."""
        own = {"l.tar.gz", "w.tar.gz"}
        paths = [path.relative_to(self.root) for path in self.root.rglob("*") if not path.is_dir() or path.is_symlink()]
        return {str(path) for path in paths if path.name not in own and path.suffix != ".lock"}


def test_built_on_one_node_and_installed_on_another(tmp_path: Path) -> None:
    builder, other = Node(tmp_path / "one"), Node(tmp_path / "two")
    built = builder.build()
    assert builder.files() == {f"into/libfabric-{KEY}.tar.gz", "log/build.log"}
    assert built["sha256"] == file_digest(Path(built["path"]), "sha256")
    assert installed(other.library) == {}
    manifest = install(built["path"], built["sha256"], KEY, other.run, other.library)
    assert manifest == {"key": KEY, "version": "1.22.0", "gaudi_direct": False, "wrapper": True}
    assert installed(other.library) == manifest
    assert other.files() == {
        "etc/ld.so.conf.d/00-gaudi3-scale-libfabric.conf",
        "opt/gaudi3_scale/libfabric",
        *(f"opt/gaudi3_scale/libfabric-{KEY}/{name}" for name in (
            "bin/fi_info", "lib/libfabric.so.1", "lib/libfabric.so.1.2", "built.json", "libhccl_ofi_wrapper.so")),
        "usr/lib/habanalabs/libhccl_ofi_wrapper.so",
    }  # fmt: skip
    assert other.loader == [["ldconfig"]]
    assert (tmp_path / "two/etc/ld.so.conf.d/00-gaudi3-scale-libfabric.conf").read_text().endswith(f"\n{PREFIX}/lib\n")


def test_the_same_sources_give_the_same_archive(tmp_path: Path) -> None:
    assert Node(tmp_path / "one").build()["sha256"] == Node(tmp_path / "two").build()["sha256"]


def test_another_build_takes_the_place_of_the_first(tmp_path: Path) -> None:
    node = Node(tmp_path / "one")
    built = node.build()
    install(built["path"], built["sha256"], KEY, node.run, node.library)
    with tarfile.open(built["path"]) as archive:
        archive.extractall(tmp_path / "again")
    (tmp_path / "again/built.json").write_text(
        json.dumps({"key": "other", "version": "1.22.0", "gaudi_direct": True, "wrapper": False})
    )
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "again", ".")
    other = str(tmp_path / "other.tar.gz")
    install(other, file_digest(Path(other), "sha256"), "other", node.run, node.library)
    assert installed(node.library)["key"] == "other"
    assert sorted(path.name for path in (node.root / "opt/gaudi3_scale").iterdir()) == ["libfabric", "libfabric-other"]


@pytest.mark.parametrize(
    "lost",
    [
        "opt/gaudi3_scale/libfabric",
        f"opt/gaudi3_scale/libfabric-{KEY}/lib/libfabric.so.1",
        "usr/lib/habanalabs/libhccl_ofi_wrapper.so",
        "etc/ld.so.conf.d/00-gaudi3-scale-libfabric.conf",
    ],
)
def test_what_lost_a_part_is_not_there_and_comes_again(tmp_path: Path, lost: str) -> None:
    node = Node(tmp_path / "one")
    built = node.build()
    install(built["path"], built["sha256"], KEY, node.run, node.library)
    whole = node.files()
    (node.root / lost).unlink()
    assert installed(node.library) == {}
    install(built["path"], built["sha256"], KEY, node.run, node.library)
    assert node.files() == whole and installed(node.library)


@pytest.mark.parametrize("step", ["_put", "_tell_loader", "_remove_others"])
def test_an_interrupted_installation_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    node = Node(tmp_path / "one")
    built = node.build()

    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(libfabric_install, step, cut)
        with pytest.raises(KeyboardInterrupt):
            install(built["path"], built["sha256"], KEY, node.run, node.library)
    install(built["path"], built["sha256"], KEY, node.run, node.library)
    assert installed(node.library)["key"] == KEY
    assert not [name for name in node.files() if "/." in name]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"Makefile": "all:\n\t@echo 'prov/verbs.c:7:1: error: unknown type name ib_x'; exit 1\n"},
            "libfabric is not built and nothing of it was installed: `make -j",
        ),
        ({"configure": "echo 'configure: error: libibverbs is needed' >&2; exit 1\n"}, "libibverbs is needed"),
        ({"configure": "printf '#define HAVE_TCP 1\\n' > config.h\n"}, "configure left out verbs; install"),
        ({"configure.ac": "AC_INIT([libfabric], [1.21.0], [x])\n"}, "is libfabric 1.21.0, and gaudi_"),
        ({"configure.ac": "AC_INIT([zlib], [1.3])\n"}, "does not contain libfabric"),
    ],
)
def test_a_build_that_fails_leaves_its_log_alone(tmp_path: Path, files: Mapping[str, str], sentence: str) -> None:
    node = Node(tmp_path / "one", {**LIBRARY, **files})
    with pytest.raises(GaudiError) as failed:
        node.build()
    assert sentence in str(failed.value) and "\n" not in str(failed.value)
    assert node.files() <= {"log/build.log"}
    if "Makefile" in files:
        assert "ended with 2: prov/verbs.c:7:1: error: unknown type name ib_x; its whole" in str(failed.value)
        assert any("unknown type name" in str(line) for line in failed.value.facts["log"])


def test_a_failing_wrapper_leaves_nothing_either(tmp_path: Path) -> None:
    node = Node(tmp_path / "one", wrapper={"Makefile": "all:\n\texit 3\n"})
    with pytest.raises(GaudiError, match="nothing of it was installed: `make LIBFABRIC_ROOT="):
        node.build()
    assert node.files() == {"log/build.log"}


def test_sources_from_git_are_given_a_configure_first(tmp_path: Path) -> None:
    files = {name: text for name, text in LIBRARY.items() if name != "configure"}
    made = "cat > configure <<'END'\n" + CONFIGURE + "END\n"
    assert Node(tmp_path / "one", {**files, "autogen.sh": made}).build()["size"]


def test_gaudi_direct_needs_the_headers_and_is_in_the_manifest(tmp_path: Path) -> None:
    node = Node(tmp_path / "one")
    with pytest.raises(GaudiError, match=r"synapse_api\.h is not on this node"):
        node.build(gaudi_direct=True)
    header = node.root / "usr/include/habanalabs/synapse_api.h"
    header.parent.mkdir(parents=True)
    header.touch()
    built = node.build(gaudi_direct=True)
    assert install(built["path"], built["sha256"], KEY, node.run, node.library)["gaudi_direct"] is True


@pytest.mark.parametrize("change", [{"checksum": "sha256:" + "0" * 64}, {"wrapper_checksum": "sha256:" + "0" * 64}])
def test_a_wrong_checksum_is_unpacked_by_nobody(tmp_path: Path, change: Mapping[str, str]) -> None:
    node = Node(tmp_path / "one")
    with pytest.raises(GaudiError, match=r"checksum is another one; nothing was unpacked"):
        node.build(**change)
    assert node.files() == set()


def test_what_a_url_answers_is_built_as_well(tmp_path: Path) -> None:
    node = Node(tmp_path / "one")
    place = BuildPlace(str(node.root), str(node.root / "state"), str(node.root / "log/build.log"))
    options = replace(node.options, archive=f"file://{node.sources.libfabric}", wrapper_archive="")
    assert build(options, KEY, Sources(), str(node.root / "into"), node.run, place)["size"]


def test_a_library_that_does_not_run_here_is_not_installed(tmp_path: Path) -> None:
    text = LIBRARY["Makefile"].replace("echo libfabric: 1.22.0", "echo GLIBC_2.38 not found >&2; exit 1")
    node = Node(tmp_path / "one", {**LIBRARY, "Makefile": text})
    built = node.build()
    before = node.files()
    with pytest.raises(GaudiError, match=r"does not run on this node and was not installed: .*GLIBC_2\.38 not found"):
        install(built["path"], built["sha256"], KEY, node.run, node.library)
    assert node.files() == before


def test_what_was_damaged_on_its_way_is_not_installed(tmp_path: Path) -> None:
    node = Node(tmp_path / "one")
    built = node.build()
    with pytest.raises(GaudiError, match="reached this node with the SHA-256"):
        install(built["path"], "0" * 64, KEY, node.run, node.library)
    with pytest.raises(GaudiError, match="was built for other nodes"):
        install(built["path"], built["sha256"], "another", node.run, node.library)
    assert installed(node.library) == {}
