# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the container runtime: Docker's file as Docker would read it, and as its operator knows it."""

from __future__ import annotations

import json
import stat

from testinfra.host import Host

FILE = "/etc/docker/daemon.json"


def daemon(host: Host) -> dict[str, object]:
    return json.loads(host.file(FILE).content_string)


def test_the_runtime_is_registered_and_can_be_started(host: Host) -> None:
    program = daemon(host)["runtimes"]["habana"]["path"]
    assert stat.S_IMODE(host.file(program).mode) & 0o111


def test_what_the_operator_wrote_is_still_there(host: Host) -> None:
    settings = daemon(host)
    assert settings["log-driver"] == "journald"
    assert settings["insecure-registries"] == ["registry.example.org:5000"]
    assert settings["runtimes"]["other"] == {"path": "/usr/bin/other-runtime"}
    assert host.file(FILE).mode == 0o640


def test_the_operators_file_is_kept_as_it_was(host: Host) -> None:
    (backup,) = host.check_output(f"ls {FILE}.*").splitlines()
    assert "habana" not in json.loads(host.file(backup).content_string)["runtimes"]
