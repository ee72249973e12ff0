# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The code of an image: what is copied, what is refused, and a digest that no checkout's times and rights change."""

from __future__ import annotations

import os

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image import code_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._image.code_tree import code_digest, code_files, copy_code

EXCLUDED = [".git", "*.pyc", "data/raw"]


@pytest.fixture
def code(tmp_path):
    root = tmp_path / "code"
    for name in ("train.py", "lib/net.py", "lib/net.pyc", ".git/HEAD", "data/raw/big.bin", "run.sh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "run.sh").chmod(0o700)
    (root / "lib/same.py").symlink_to("net.py")
    return root


def digest(code):
    return code_digest(str(code), code_files(str(code), EXCLUDED))


def test_what_is_excluded_stays_out(code):
    files = {file.path: (file.mode, file.link) for file in code_files(str(code), EXCLUDED)}
    assert files == {
        "lib/net.py": (0o644, ""),
        "lib/same.py": (0o644, "net.py"),
        "run.sh": (0o755, ""),
        "train.py": (0o644, ""),
    }


def test_times_and_rights_of_a_checkout_do_not_count_and_contents_do(code):
    before = digest(code)
    (code / "train.py").chmod(0o600)
    os.utime(code / "train.py", (1, 1))
    (code / "lib/net.pyc").write_text("compiled again")
    assert digest(code) == before
    (code / "train.py").write_text("another step")
    assert digest(code) != before


def test_a_program_that_may_be_run_is_another_one(code):
    before = digest(code)
    (code / "train.py").chmod(0o755)
    assert digest(code) != before


def test_the_copy_can_be_read_by_everybody(code, tmp_path):
    (code / "train.py").chmod(0o600)
    target = tmp_path / "context"
    (target / "stale").mkdir(parents=True)
    copy_code(str(code), code_files(str(code), EXCLUDED), target)
    assert not (target / "stale").exists()
    assert (target / "train.py").stat().st_mode & 0o777 == 0o644
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (target / "lib/same.py").read_text() == "lib/net.py"
    assert (target / "lib").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("target", ["/etc/passwd", "../secrets"])
def test_a_link_out_of_the_code_is_refused(code, target):
    (code / "out").symlink_to(target)
    with pytest.raises(GaudiError, match=r"out is a link to .*, which is not in the image; replace it"):
        digest(code)


def test_a_pipe_is_refused(code):
    os.mkfifo(code / "pipe")
    with pytest.raises(GaudiError, match=r"pipe is neither a file nor a directory"):
        digest(code)


def test_a_directory_that_hides_the_vendors_torch_is_refused(code):
    (code / "torch").mkdir()
    (code / "torch/__init__.py").write_text("")
    with pytest.raises(GaudiError, match=r"has torch, which Python would import instead of the vendor's; rename it"):
        digest(code)


def test_an_empty_directory_is_refused(tmp_path):
    with pytest.raises(GaudiError, match=r"has no file to copy; check it out"):
        code_files(str(tmp_path), [])


def test_data_among_the_code_is_refused(code, monkeypatch):
    monkeypatch.setattr(code_tree, "MOST_MIB", 0)
    with pytest.raises(GaudiError, match=r"keep data out of images: name it in excluded \(gaudi_image_excluded\)"):
        digest(code)
