# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``habana-container-runtime``: puts the cards into the container that an engine creates, then becomes runc.

What it reads, adds and leaves out follows main.go and specs.go of HabanaAI/gaudi-container-runtime (1.24.0). Its hook,
which brings the cards' network interfaces into a container with a network of its own, is not simulated.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from .kernel_tree import DEVICE_MODE, DEVICE_NUMBER, KERNEL
from .node_state import ROOT

CONFIGURATION = Path("/etc/habana-container-runtime/config.toml")
LOG = Path("/var/log/habana-container-runtime.log")
# The sandbox's wrapper of runc.
RUNC = "/usr/local/lib/gaudi_sandbox/runc"
DEVICES, MODULES, ERROR = "HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES", "HABANA_RUNTIME_ERROR"


def main(arguments: list[str]) -> int:
    """Rewrite the bundle of a ``create``; hand everything on to runc."""
    if arguments == ["--version"]:
        print(f"habana-container-runtime {os.environ['HABANALABS_PACKAGE']} (simulated)")
    try:
        settings = CONFIGURATION.read_text(encoding="utf-8")
    except OSError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    if "create" in arguments and setting(settings, "mode", "oci") != "cdi":
        bundle = Path(_option(arguments, "--bundle", "-b"), "config.json")
        specification = json.loads(bundle.read_text(encoding="utf-8"))
        bundle.write_text(json.dumps(with_cards(specification, settings)), encoding="utf-8")
    os.execv(RUNC, [RUNC, *arguments])
    return 0


def with_cards(specification: dict, settings: str, kernel: Path = ROOT / KERNEL) -> dict:  # type: ignore[type-arg]
    """The OCI specification with the cards that its environment asks for; as it is where that asks for none."""
    environment = dict(entry.partition("=")[::2] for entry in specification["process"]["env"])
    if DEVICES not in environment and setting(settings, "visible_devices_all_as_default", "false") != "true":
        return specification
    present = sorted(path.name.removeprefix("accel") for path in (kernel / "sys/class/accel").glob("accel*"))
    asked = environment.get(DEVICES, "all")
    indices = present if asked in ("", "all") else [index for index in present if index in asked.split(",")]
    added = specification["process"]["env"]
    if not indices:
        added.append(f'{ERROR}="no accelerators found"')
        return specification
    paths: list[str] = []
    if setting(settings, "mount_accelerators", "true") == "true":
        paths += [f"/dev/accel/{name}{index}" for index in indices for name in ("accel", "accel_controlD")]
    if setting(settings, "mount_uverbs", "true") == "true":
        verbs = [f"/dev/infiniband/uverbs{index}" for index in indices]
        paths += [path for path in verbs if Path(f"{kernel}{path}").exists()]
    modules = (kernel / f"sys/class/accel/accel{index}/device/module_id" for index in indices)
    added.append(f"{MODULES}={','.join(sorted(path.read_text(encoding='utf-8').strip() for path in modules))}")
    _add_devices(specification["linux"], paths)
    _log(f"{len(indices)} cards: {','.join(indices)}")
    return specification


def setting(text: str, name: str, otherwise: str) -> str:
    """The value of a key of config.toml without its quotes; no key is in two of its tables."""
    found = re.search(rf"^\s*{name}\s*=\s*\"?([^\"\s#]+)", text, re.MULTILINE)
    return found[1] if found else otherwise


def _add_devices(linux: dict, paths: list[str]) -> None:  # type: ignore[type-arg]
    major, minor = os.major(DEVICE_NUMBER), os.minor(DEVICE_NUMBER)
    number = {"type": "c", "major": major, "minor": minor}
    nodes = [{"path": path, **number, "fileMode": DEVICE_MODE, "uid": 0, "gid": 0} for path in paths]
    linux["devices"] = [*(linux.get("devices") or []), *nodes]
    resources = linux.setdefault("resources", {})
    resources["devices"] = [*(resources.get("devices") or []), {"allow": True, "access": "rwm", **number}]


def _log(line: str) -> None:
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps({"level": "INFO", "msg": line}) + "\n")


def _option(arguments: list[str], *names: str) -> str:
    """The value of an option, written ``--name VALUE`` or ``--name=VALUE``; the working directory without one."""
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else following
    return "."
