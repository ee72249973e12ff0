# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where the node library may come from, and what is refused: above all its name alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.node_library import (
    bundled,
    forget_others,
    have,
    look,
    refuse_extras,
    refuse_own_name,
    wanted,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._pure_wheel import pure_wheel

VENV = "/opt/gaudi3_scale/venv"
DIGEST = "a" * 64
FILE = "gaudi3_scale-0.1.0-py3-none-any.whl"


def wheel(directory: Path, name: str = "gaudi3-scale", extras: tuple[str, ...] = ("s3",)) -> tuple[Path, str]:
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n" + "".join(f"Provides-Extra: {e}\n" for e in extras)
    file, content = pure_wheel("gaudi3_scale", "0.1.0", about, {"gaudi3_scale/__init__.py": b""})
    (directory / file).write_bytes(content)
    return directory / file, hashlib.sha256(content).hexdigest()


def test_the_bundled_one_lies_beside_the_environment_under_its_digest() -> None:
    library = wanted(bundled(FILE, DIGEST), ["s3", "hf", "s3"], VENV)
    assert library.path == f"{VENV}.wheels/{DIGEST}/{FILE}"
    assert library.requirement == f"gaudi3-scale[hf,s3] @ file://{library.path}#sha256={DIGEST}"
    assert library.constraint == f"gaudi3-scale @ file://{library.path}#sha256={DIGEST}"
    assert library.brought


@pytest.mark.parametrize(
    ("option", "requirement", "path"),
    [
        ("", "", ""),
        (f"/media/{FILE}", f"gaudi3-scale @ file:///media/{FILE}", f"/media/{FILE}"),
        (f"gaudi3-scale @ file:///media/{FILE}", f"gaudi3-scale @ file:///media/{FILE}", f"/media/{FILE}"),
        (f"gaudi3_scale[s3] @ https://x/{FILE}", f"gaudi3-scale[s3] @ https://x/{FILE}", ""),
    ],
)
def test_a_sites_own_is_a_place(option: str, requirement: str, path: str) -> None:
    library = wanted(option, [], VENV)
    assert (library.requirement, library.path, library.brought) == (requirement, path, False)


@pytest.mark.parametrize(
    "option",
    [
        "gaudi3-scale",
        "gaudi3_scale==0.1.0",
        "gaudi3-scale[s3]>=0.1",
        "gaudi3.scale",
        "other @ https://x/other-1-py3-none-any.whl",
        "gaudi3-scale @ ftp://x/y.whl",
        "gaudi3-scale @ bundled:../../etc/x.whl#sha256=" + DIGEST,
        "gaudi3-scale @ https://x/y.whl --index-url https://evil",
        "gaudi3-scale @",
        "dist/x.whl",
    ],
)
def test_an_index_is_never_asked_for_it(option: str) -> None:
    with pytest.raises(
        GaudiError,
        match=r"^node_library '.*' is not the location of a wheel, .* is on no package index, .*; set bundled, the abs",
    ):
        wanted(option, [], VENV)


@pytest.mark.parametrize("requirement", ["gaudi3-scale", "Gaudi3_Scale[tune]==0.1.0", "gaudi3-scale @ https://x/y.whl"])
def test_its_name_is_no_requirement(requirement: str) -> None:
    with pytest.raises(GaudiError, match=r"^requirements must not name gaudi3-scale \('.*'\), which is on no package"):
        refuse_own_name(["lightning", requirement])


def test_extras_that_it_does_not_have_are_refused() -> None:
    with pytest.raises(
        GaudiError, match=r"^extras has 's4', which the node library 0.1.0 does not have; use of hf, s3\.$"
    ):
        refuse_extras(["s3", "s4"], ["s3", "hf"], "0.1.0")
    with pytest.raises(GaudiError, match=r"^extras has 's3', but no node library is wanted; set bundled"):
        wanted("", ["s3"], VENV)


def test_it_is_brought_once_and_checked(tmp_path: Path) -> None:
    source, digest = wheel(tmp_path)
    library = wanted(bundled(source.name, digest), ["s3"], str(tmp_path / "venv"))
    with pytest.raises(GaudiError) as missing:
        have(library, "")
    assert missing.value.facts == {"missing_wheel": library.path}
    have(library, str(source))
    source.unlink()
    have(library, "")
    assert Path(library.path).stat().st_mode & 0o777 == 0o644
    assert Path(library.path).parent.stat().st_mode & 0o022 == 0

    # Somebody changes it there: it is brought again.
    Path(library.path).write_bytes(b"changed")
    with pytest.raises(GaudiError) as changed:
        have(library, "")
    assert "missing_wheel" in changed.value.facts


def test_another_file_than_the_one_that_was_told_is_refused(tmp_path: Path) -> None:
    source, digest = wheel(tmp_path)
    library = wanted(bundled(source.name, DIGEST), [], str(tmp_path / "venv"))
    with pytest.raises(GaudiError, match=rf"copied to this node has the SHA-256 {digest}, not {DIGEST}; run again\.$"):
        have(library, str(source))
    assert not Path(f"{tmp_path}/venv.wheels").exists()


def test_a_sites_wheel_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    path, digest = wheel(tmp_path)
    library = look(wanted(str(path), ["s3"], VENV))
    assert library.requirement == f"gaudi3-scale[s3] @ file://{path}#sha256={digest}"
    have(library, "")
    with pytest.raises(GaudiError, match=rf"node_library '{path}' has the SHA-256 {digest}, not {DIGEST}; copy"):
        look(wanted(f"gaudi3-scale @ file://{path}#sha256={DIGEST}", [], VENV))
    with pytest.raises(
        GaudiError, match=r"^node_library '/nonexistent/x.whl' is not on this node; copy the wheel there"
    ):
        look(wanted("/nonexistent/x.whl", [], VENV))
    with pytest.raises(GaudiError, match=r"extras has 'hf', which the node library 0.1.0 does not have; use of s3"):
        have(look(wanted(str(path), ["hf"], VENV)), "")
    path.write_bytes(b"no zip")
    with pytest.raises(GaudiError, match="is not a usable wheel"):
        have(look(wanted(str(path), [], VENV)), "")
    other, _digest = wheel(tmp_path, "other")
    with pytest.raises(GaudiError, match="is a wheel of other, not of gaudi3-scale"):
        have(look(wanted(str(other), [], VENV)), "")


def test_what_is_no_longer_installed_is_removed(tmp_path: Path) -> None:
    source, digest = wheel(tmp_path)
    old = tmp_path / "venv.wheels" / DIGEST
    old.mkdir(parents=True)
    library = wanted(bundled(source.name, digest), [], str(tmp_path / "venv"))
    have(library, str(source))
    forget_others(library, str(tmp_path / "venv"))
    assert [path.name for path in (tmp_path / "venv.wheels").iterdir()] == [digest]
