# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real archives of layers, written here as tools write them, and as no tool does."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import tarfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.image_unpack import (
    CONFIGURATION,
    ROOT,
    apply_layer,
    main,
    unpack,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

FILE, DIRECTORY, LINK, HARD, DEVICE, PIPE = (
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
)


def layer(*entries):
    """An archive of (name, type, content or target, mode)."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, kind, content, mode in entries:
            member = tarfile.TarInfo(name)
            member.type, member.mode, member.mtime, member.uid = kind, mode, 1700000000, 0
            data = content.encode() if kind == FILE else b""
            member.size = len(data)
            if kind in (LINK, HARD):
                member.linkname = content
            archive.addfile(member, io.BytesIO(data))
    return written.getvalue()


def applied(root: Path, *layers: bytes) -> Path:
    root.mkdir(exist_ok=True)
    for one in layers:
        apply_layer(io.BytesIO(one), root)
    return root


def tree(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_later_layers_replace_and_take_away(tmp_path):
    root = applied(
        tmp_path / "root",
        layer(
            ("etc/", DIRECTORY, "", 0o755),
            ("etc/old", FILE, "1", 0o644),
            ("etc/kept", FILE, "1", 0o644),
            ("opt/dir/x", FILE, "x", 0o644),
            ("srv/a", FILE, "a", 0o644),
            ("srv/b", FILE, "b", 0o644),
        ),
        layer(
            ("etc/.wh.old", FILE, "", 0o644),
            ("etc/kept", FILE, "2", 0o600),
            ("opt/dir", FILE, "a file now", 0o644),
            ("srv/c", FILE, "c", 0o644),
            ("srv/.wh..wh..opq", FILE, "", 0o644),
        ),
    )
    assert tree(root) == {"etc", "etc/kept", "opt", "opt/dir", "srv", "srv/c"}
    assert (root / "etc/kept").read_text() == "2"
    assert (root / "opt/dir").read_text() == "a file now"


def test_the_account_keeps_its_rights_and_gives_none(tmp_path):
    root = applied(
        tmp_path / "root",
        layer(
            ("closed/", DIRECTORY, "", 0o500),
            ("closed/file", FILE, "x", 0o444),
            ("usr/bin/su", FILE, "x", 0o4755),
            ("dev/sda", DEVICE, "", 0o666),
            ("run/pipe", PIPE, "", 0o666),
        ),
    )
    assert stat.S_IMODE((root / "closed").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "closed/file").stat().st_mode) == 0o644
    assert stat.S_IMODE((root / "usr/bin/su").stat().st_mode) == 0o755
    assert not (root / "dev/sda").exists()
    assert not (root / "run/pipe").exists()
    assert (root / "usr/bin/su").stat().st_mtime == 1700000000


@pytest.mark.parametrize("target", ["/outside", "../../outside", "../../../../../../outside"])
def test_a_link_leads_the_next_layer_nowhere_outside(tmp_path, target):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    root = applied(
        tmp_path / "root",
        layer(
            ("var/", DIRECTORY, "", 0o755), ("var/run", LINK, target, 0o777), ("etc/passwd", FILE, "the image's", 0o644)
        ),
        layer(("var/run/mine", FILE, "theirs", 0o644), ("var/run/.wh.mine", FILE, "", 0o644)),
    )
    assert (outside / "mine").read_text() == "mine"
    assert (root / "var/run").is_symlink()


def test_absolute_links_are_the_images_own(tmp_path):
    root = applied(
        tmp_path / "root",
        layer(("run/", DIRECTORY, "", 0o755), ("var/run", LINK, "/run", 0o777)),
        layer(("var/run/lock", FILE, "x", 0o644)),
    )
    assert (root / "run/lock").read_text() == "x"


def test_hard_links_are_to_files_of_the_image(tmp_path):
    (tmp_path / "secret").write_text("mine")
    root = applied(
        tmp_path / "root",
        layer(
            ("bin/a", FILE, "a", 0o755),
            ("bin/b", HARD, "bin/a", 0o755),
            ("bin/c", HARD, "../../secret", 0o755),
            ("../d", FILE, "d", 0o644),
        ),
    )
    assert (root / "bin/b").samefile(root / "bin/a")
    assert not (root / "bin/c").exists()
    assert not (tmp_path / "d").exists()


def test_links_without_an_end_are_refused(tmp_path):
    with pytest.raises(GaudiError, match="links without an end at loop; build it anew"):
        applied(tmp_path / "root", layer(("loop", LINK, "loop", 0o777)), layer(("loop/x", FILE, "x", 0o644)))


def layout(directory: Path, *layers: bytes, config: object = None) -> Path:
    """One image in the OCI image layout."""
    blobs = directory / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return f"sha256:{digest}"

    configuration = blob(json.dumps(config or {"architecture": "amd64", "os": "linux"}).encode())
    manifest = {"config": {"digest": configuration}, "layers": [{"digest": blob(one)} for one in layers]}
    index = {"manifests": [{"digest": blob(json.dumps(manifest).encode())}]}
    (directory / "index.json").write_text(json.dumps(index))
    return directory


def test_a_layout_becomes_a_directory_with_its_configuration(tmp_path):
    first, second = layer(("etc/a", FILE, "a", 0o644)), layer(("etc/b", FILE, "b", 0o644))
    source = layout(
        tmp_path / "layout", gzip.compress(first), second, config={"os": "linux", "config": {"Env": ["A=1"]}}
    )
    assert main([str(source), str(tmp_path / "image")]) == 0
    assert tree(tmp_path / "image" / ROOT) == {"etc", "etc/a", "etc/b"}
    assert json.loads((tmp_path / "image" / CONFIGURATION).read_text())["config"]["Env"] == ["A=1"]


def test_a_damaged_image_has_no_configuration_and_says_why(tmp_path, capsys):
    source = layout(tmp_path / "layout", gzip.compress(layer(("etc/a", FILE, "a" * 9999, 0o644)))[:-30])
    assert main([str(source), str(tmp_path / "image")]) == 1
    assert capsys.readouterr().err.strip()
    assert not (tmp_path / "image" / CONFIGURATION).exists()


def test_a_manifest_with_another_content_than_its_name_is_refused(tmp_path):
    source = layout(tmp_path / "layout", layer(("etc/a", FILE, "a", 0o644)))
    index = json.loads((source / "index.json").read_text())
    path = source / "blobs/sha256" / index["manifests"][0]["digest"].partition(":")[2]
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(GaudiError, match="has another content than its name says; fetch it again"):
        unpack(source, tmp_path / "image")


@pytest.mark.parametrize("digest", ["sha256:../../../etc/passwd", "../x:1", ""])
def test_a_digest_is_no_path(tmp_path, digest):
    source = tmp_path / "layout"
    source.mkdir()
    (source / "index.json").write_text(json.dumps({"manifests": [{"digest": digest}]}))
    with pytest.raises(GaudiError, match="which is none; build it anew"):
        unpack(source, tmp_path / "image")
