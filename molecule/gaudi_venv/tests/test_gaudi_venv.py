# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the training stack: what the venv's own Python can do, and what pip may not do to it."""

from __future__ import annotations

import json

from testinfra.host import Host

from plugins.plugin_utils._node_library import build

PYTHON = "/opt/gaudi3_scale/venv/bin/python"


def in_venv(host: Host, code: str) -> str:
    return host.check_output(f"{PYTHON} -c '{code}'")


def test_torch_computes(host: Host) -> None:
    assert in_venv(host, "import torch; print(torch.ones(3).sum().item())") == "3.0"


def test_the_trainer_and_the_core_can_be_imported(host: Host) -> None:
    code = "import gaudi3_scale.train, gaudi3_scale.core._releases.lookup as releases; print(releases.NEWEST)"
    assert in_venv(host, code) == "1.24.1"


def test_the_node_library_is_that_of_this_checkout(host: Host) -> None:
    version = in_venv(host, 'from importlib.metadata import version; print(version("gaudi3-scale"))')
    assert version == build().version


def test_its_wheel_is_roots_and_what_the_controller_wrote(host: Host) -> None:
    built = build()
    wheel = host.file(f"/opt/gaudi3_scale/venv.wheels/{built.sha256}/{built.file}")
    assert wheel.sha256sum == built.sha256
    for path in (wheel, host.file("/opt/gaudi3_scale/venv.wheels"), host.file("/opt/gaudi3_scale")):
        assert path.user == "root" and path.mode & 0o022 == 0


def test_jobs_have_an_account_that_can_do_nothing_else(host: Host) -> None:
    account = host.user("gaudi")
    # As inventories/sandbox has it: the same on every node.
    assert (account.uid, account.gid, account.home) == (900, 900, "/var/lib/gaudi")
    home = host.file(account.home)
    assert (home.user, home.mode) == ("gaudi", 0o750)
    # Those of the two that the node has.
    there = [name for name in ("render", "video") if host.group(name).exists]
    assert "render" in there
    assert sorted(account.groups) == sorted(["gaudi", *there])
    # No password opens it, and sudo does nothing for it.
    assert host.check_output("getent shadow gaudi").split(":")[1] in ("!", "!!", "*", "!*")
    assert "is not allowed to run sudo" in host.check_output("sudo --list --other-user=gaudi")
    assert host.run("runuser -u gaudi -- sh -c 'echo >> /opt/gaudi3_scale/venv/x'").rc != 0


def test_pip_asks_nobody_for_its_name(host: Host) -> None:
    """Also not where a person types it."""
    done = host.run(f"{PYTHON} -m pip install --dry-run --force-reinstall --no-deps --report - --quiet gaudi3-scale")
    assert done.rc == 0
    (item,) = json.loads(done.stdout)["install"]
    assert item["download_info"]["url"].startswith("file:///opt/gaudi3_scale/venv.wheels/")
    assert host.run(f"{PYTHON} -m pip install --dry-run gaudi3-scale==9.9.9").rc != 0


def test_everything_from_the_index_is_pinned(host: Host) -> None:
    pins = dict(
        line.partition(" ;")[0].split("==")
        for line in host.file("/opt/gaudi3_scale/venv/gaudi3_scale_pins.txt").content_string.splitlines()[1:]
    )
    installed = {item["name"].lower().replace("_", "-"): item["version"] for item in _installed(host)}
    ours = {"pip", "torch", "habana-torch-plugin", "gaudi3-scale"}
    # setuptools is that of the system's venv where nothing asks for another.
    others = {name: version for name, version in installed.items() if name not in ours | {"setuptools"}}
    assert others.keys() - pins.keys() == set()
    assert {name: version for name, version in others.items() if pins[name] != version} == {}


def _installed(host: Host) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = json.loads(host.check_output(f"{PYTHON} -m pip list --format json"))
    return listed


def test_pip_finds_the_venv_consistent(host: Host) -> None:
    assert host.run(f"{PYTHON} -m pip check").rc == 0


def test_an_upgrade_of_torch_keeps_the_releases_build(host: Host) -> None:
    version = in_venv(host, "import torch; print(torch.__version__)")
    upgrade = host.run(f"{PYTHON} -m pip install --dry-run --quiet --upgrade --report - torch")
    if upgrade.rc == 0:
        replaced = [item["metadata"] for item in json.loads(upgrade.stdout)["install"]]
        assert [item for item in replaced if item["name"] == "torch" and item["version"] != version] == []
    else:
        assert "torch" in upgrade.stderr


def test_another_torch_is_refused(host: Host) -> None:
    assert host.run(f"{PYTHON} -m pip install --dry-run torch==2.0.0").rc != 0


def test_the_systems_python_is_left_alone(host: Host) -> None:
    assert host.run("/usr/bin/python3 -c 'import torch'").rc != 0
