# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a module meets, it answers in a sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import duration
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import ISSUES, module_failure

ROOT = Path(__file__).parents[5]


def raised(action) -> Exception:
    with pytest.raises(Exception) as caught:
        action()
    return caught.value


def test_a_refusal_is_told_as_it_is():
    assert module_failure(GaudiError("cards is 9; give 8.", cards=9)) == {"msg": "cards is 9; give 8.", "cards": 9}


def test_a_full_disk_is_told_with_the_path_and_the_remedy():
    def fill():
        # Linux's own device for this.
        with Path("/dev/full").open("w") as stream:
            stream.write("x" * 100_000)

    answer = module_failure(raised(fill))
    assert answer["msg"].endswith("No space left on device; free some space on its file system.")
    answer = module_failure(OSError(errno.EROFS, "Read-only file system", "/etc/x"))
    assert answer["msg"].startswith("/etc/x: Read-only file system; mount its file system for writing")
    answer = module_failure(raised(Path("/etc/passwd/x").read_text))
    assert answer["msg"] == "/etc/passwd/x: Not a directory; a part of it is not a directory: correct the path."


def test_a_bug_says_so_and_where_to_report_it():
    answer = module_failure(raised(lambda: duration("a while")))
    source = ROOT / "plugins/module_utils/_follow/metrics.py"
    line = next(n for n, text in enumerate(source.read_text().splitlines(), 1) if "round(seconds)" in text)
    place = f"plugins/module_utils/_follow/metrics.py:{line}"
    assert answer["msg"].startswith(f"this is a bug of gaudi3.scale: TypeError in {place}; ")
    assert f"please report it at {ISSUES}" in answer["msg"]
    assert "Traceback" in answer["exception"]
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text())["issues"] == ISSUES


def test_an_error_that_was_never_raised_has_no_place():
    assert "MemoryError in an unknown place" in module_failure(MemoryError())["msg"]
