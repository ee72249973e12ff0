# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the line ``start`` says of a run beside its steps: versions and the flags that are set."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import Mapping

from gaudi3_scale.core._flags.catalog.catalog import find_flag
from gaudi3_scale.core._job.job_secrets import masked
from gaudi3_scale.core._node.kernel_modules import loaded_version

# The bridge's distributions are named by Intel; each release calls itself by the version of the first.
DISTRIBUTIONS = ("gaudi3-scale", "torch", "lightning", "habana-torch-plugin", "habana-torch-dataloader", "transformers")


def run_facts(environment: Mapping[str, str]) -> dict[str, object]:
    """The fields of the line."""
    flags = {name: value for name, value in environment.items() if find_flag(name) is not None}
    return {"versions": versions(), "flags": masked(dict(sorted(flags.items())))}


def versions(kernel_root: str = "/") -> dict[str, str]:
    """Name to version, of what is installed here; ``driver`` is what the loaded habanalabs calls itself."""
    found = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    # What is loaded, where two distributions claim the name.
    if "torch" in sys.modules:
        found["torch"] = str(sys.modules["torch"].__version__)
    driver = loaded_version(kernel_root)
    return {**found, "driver": driver} if driver else found
