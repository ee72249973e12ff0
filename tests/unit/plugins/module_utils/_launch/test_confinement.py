# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions, SupervisionOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.confinement import confined
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.library import Library
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site, plan_launch
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job

KINDS = {
    "torchrun": {},
    "supervised": {"supervision": SupervisionOptions()},
    "mpirun": {"engine": "mpirun", "mpi": MpiOptions()},
    "contained": {"supervision": SupervisionOptions(), "image": f"registry.example.org/a@sha256:{'0' * 64}"},
}
SITE = Site("eth1", library=Library("/venv", "0.1.0"), open_mpi="5.0.8")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
@pytest.mark.parametrize("user", ["trainer", "root"])
@pytest.mark.parametrize("kind", KINDS)
def test_systemd_itself_takes_the_unit_for_confined(tmp_path, kind, user):
    launch = plan_launch(described_job(**KINDS[kind], user=user), PATHS, SITE)
    unit = tmp_path / PATHS.unit
    unit.write_text(launch.text, encoding="utf-8")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=50", str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "Unknown" not in judged.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_a_unit_without_it_is_not(tmp_path):
    """That the threshold is one: the same unit as it was."""
    launch = plan_launch(described_job(user="trainer"), PATHS, SITE)
    unit = tmp_path / PATHS.unit
    bare = set(confined(described_job(user="trainer"), PATHS))
    unit.write_text("\n".join(line for line in launch.text.splitlines() if line not in bare) + "\n", encoding="utf-8")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=50", str(unit)]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_of_the_unit_is_roots_and_systemd_writes_nothing_for_the_account(kind):
    text = plan_launch(described_job(**KINDS[kind], user="trainer"), PATHS, SITE).text
    assert "=+" not in text
    assert f"StandardOutput=append:{PATHS.agent_log}" in text
    assert not PATHS.agent_log.startswith(PATHS.logs)


@pytest.mark.parametrize(
    ("changes", "private"),
    [
        ({}, True),
        ({"command": ("/var/tmp/train.py",)}, False),
        ({"command": ("train.py", "--data=/tmp/tokens")}, False),
        ({"working_directory": "/tmp"}, False),
        ({"environment": {"TMPDIR": "/var/tmp"}}, False),
        ({"command": ("/data/tmp/train.py",)}, True),
        ({"command": ("/tmpfs/train.py",)}, True),
    ],
)
def test_a_job_that_names_something_in_tmp_finds_it_there(changes, private):
    assert ("PrivateTmp=yes" in confined(described_job(**changes), PATHS)) is private


def test_only_the_cards_of_the_job_are_devices_to_it():
    allowed = {
        device: [line for line in confined(described_job(device=device), PATHS) if line.startswith("DeviceAllow=")]
        for device in ("hpu", "cuda", "cpu")
    }
    assert "DeviceAllow=char-accel rw" in allowed["hpu"]
    assert "DeviceAllow=char-nvidia* rw" in allowed["cuda"]
    assert not [line for line in allowed["cpu"] if "accel" in line or "nvidia" in line]


def test_places_with_blanks_are_one_word_each():
    job = described_job(checkpoint_directory='/data/my "50%" checkpoints')
    (line,) = [line for line in confined(job, PATHS) if line.startswith("ReadWritePaths=")]
    assert line.endswith(r'"-/data/my \"50%%\" checkpoints"')


def test_it_speaks_only_with_the_networks_that_are_named():
    lines = confined(described_job(allowed_networks=("10.0.0.0/24", "192.0.2.7/32")), PATHS)
    assert "IPAddressDeny=any" in lines
    assert {"IPAddressAllow=localhost", "IPAddressAllow=10.0.0.0/24 192.0.2.7/32"} <= set(lines)
    assert not [line for line in confined(described_job(), PATHS) if line.startswith("IPAddress")]


def test_a_container_is_kept_from_all_that_the_job_is_but_a_user_namespace_and_mounts_in_it():
    bare = confined(described_job(), PATHS)
    contained = confined(described_job(image=f"registry.example.org/a@sha256:{'0' * 64}"), PATHS)
    assert set(bare) - set(contained) == {
        "RestrictNamespaces=yes",
        next(line for line in bare if line.startswith("SystemCallFilter=~")),
    }
    assert set(contained) - set(bare) == {
        "RestrictNamespaces=user mnt",
        next(line for line in contained if line.startswith("SystemCallFilter=~")),
        "InaccessiblePaths=-/etc/subuid -/etc/subgid",
    }
    (calls,) = [line for line in contained if line.startswith("SystemCallFilter=~")]
    assert "@mount" not in calls
    assert {"@clock", "@module", "@raw-io", "@reboot", "@swap"} <= set(calls.partition("~")[2].split())
