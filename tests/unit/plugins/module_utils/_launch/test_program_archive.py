# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import zipfile
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_programs import RANK
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.program_archive import build, needed

CORE = Path(__file__).parents[5] / "plugins/module_utils"


def read_source(name):
    return (CORE / f"{name}.py").read_text(encoding="utf-8")


def test_the_archive_is_the_same_each_time_and_has_all_that_it_imports():
    archive = build(read_source, RANK)
    assert archive == build(read_source, RANK)
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    modules = {name.partition("/")[2].removesuffix(".py") for name in names}
    assert {"_job/binding/rank", "_job/binding/__init__", "_job/__init__", "_errors"} <= modules
    assert "_launch/control" not in modules


def test_imports_are_followed_wherever_they_are():
    sources = {
        "program/main": "from .a import x\ndef f():\n    from ..job.b import y\nimport os\nfrom json import z\n",
        "program/a": "from ..job.b import y\n",
        "job/b": "from ..program.a import x\nfrom ..errors import E\n",
        "errors": "from .job.b import z\n",
    }
    assert sorted(needed(sources.__getitem__, "program/main")) == ["errors", "job/b", "program/a", "program/main"]
