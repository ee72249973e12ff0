# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of a node's qualification, all of root's in one directory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._node.json_file import parse_object, read_json
from .._node.regular_file import read_bounded
from .._node.rendered_files import WantedFile, pending, write

DIRECTORY = "/var/lib/gaudi3_scale/qualify"
# More than all tests of the longest level have.
_LARGEST = 1 << 22


def rendered(content: Mapping[str, Any]) -> str:
    """As all of them are written."""
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Files:
    """``plan``: what is to be run; ``results``: a line for each test that has ended; ``current``: the one that runs;
    ``verdict``: the end. ``reloaded`` is there while the driver runs with parameters of a test."""

    directory: str = DIRECTORY

    def path(self, name: str) -> str:
        return str(Path(self.directory, name))

    @property
    def plan(self) -> str:
        return self.path("plan.json")

    @property
    def results(self) -> str:
        return self.path("results.jsonl")

    @property
    def current(self) -> str:
        return self.path("current.json")

    @property
    def verdict(self) -> str:
        return self.path("verdict.json")

    @property
    def reloaded(self) -> str:
        return self.path("driver_reloaded")

    def read(self, path: str) -> dict[str, Any]:
        """The object in it; empty where there is none."""
        return read_json(path) or {}

    def planned(self) -> list[str]:
        """The tests of the plan; none of a file that says them in no form of ours."""
        tests = self.read(self.plan).get("tests")
        known = tests if isinstance(tests, list) else []
        return [str(test["test"]) for test in known if isinstance(test, dict) and "test" in test]

    def read_results(self) -> list[dict[str, Any]]:
        """The tests that have ended; a line that a power cut left half written is none."""
        try:
            text = read_bounded(self.results, _LARGEST).decode("utf-8", "replace")
        except OSError:
            return []
        found = []
        for line in text.splitlines():
            try:
                found.append(parse_object(line))
            except ValueError:
                continue
        return found

    def write(self, path: str, content: Mapping[str, Any]) -> None:
        """As a whole, by a rename."""
        for change in pending([WantedFile(path, rendered(content))]):
            write(change)

    def append_result(self, result: Mapping[str, Any]) -> None:
        """A line more, on the disk when this returns."""
        with Path(self.results).open("a", encoding="utf-8") as file:
            # What a power cut left of a line ends here.
            file.write(f"\n{json.dumps(result)}\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self, *paths: str) -> None:
        for path in paths:
            Path(path).unlink(missing_ok=True)
