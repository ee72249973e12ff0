# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The packages that tuning needs beside the node library's own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._venv.plan import PINS_FILE
from gaudi3_scale.extras import remedy, requirements_of

PACKAGES = ("optuna", "plotly", "grpc", "google.protobuf")
EXTRA = "tune"


def missing_packages() -> list[str]:
    """Those of the extra ``tune`` that this Python does not find."""
    return [name for name in PACKAGES if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def require_packages() -> None:
    missing = missing_packages()
    if missing:
        raise GaudiError(
            f"{', '.join(missing)} is not in {sys.prefix}; run playbooks/tune_training.yml, which installs it, or "
            f"{remedy(EXTRA)}."
        )


def install() -> None:
    """pip's own settings of the environment say from which index. Raises GaudiError where it cannot be done."""
    pip = [
        sys.executable,
        "-I",
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    needs = requirements_of(EXTRA)
    pins = Path(sys.prefix, PINS_FILE)
    exactly = ["--constraint", str(pins)] if pins.is_file() else []
    done = subprocess.run([*pip, *exactly, *needs], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith("ERROR: ")), lines[-1] if lines else "no message")
        raise GaudiError(
            f"pip cannot install {', '.join(needs)} into {sys.prefix}: {said.removeprefix('ERROR: ')}; have these "
            "packages put into the node's package index (docs/tune.md), then run again."
        )
    importlib.invalidate_caches()
    if missing_packages():
        raise GaudiError(
            f"pip reported success, but {', '.join(missing_packages())} is still not in {sys.prefix}; run "
            "playbooks/venv.yml, which renews the node library, then run again."
        )
