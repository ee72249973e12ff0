# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``ansible-galaxy`` builds and installs is the whole collection, and nothing but the collection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.action_roles import ACTION_ROLES

ROOT = Path(__file__).resolve().parents[2]
AT_RUN_TIME = ("meta", "playbooks", "plugins", "roles")
# Beside those four: what a reader of the installed collection, a certification or AWX looks for.
BESIDE = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "FILES.json",
    "LICENSE",
    "LICENSES",
    "MANIFEST.json",
    "README.md",
    "SECURITY.md",
    "REUSE.toml",
    "ansible.cfg",
    "changelogs",
    "docs",
    "extensions",
    "inventories",
    "requirements.yml",
    # The node library's, which goes from the controller to the nodes.
    "src",
}


def galaxy(*arguments: str, cwd: Path = ROOT) -> None:
    command = ["ansible-galaxy", "collection", *arguments]
    # Neither the checkout nor what this user has installed may take part.
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": "/nonexistent", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    galaxy("build", "--output-path", str(target))
    (built,) = target.glob("gaudi3-scale-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("collections")
    galaxy("install", "--offline", "--collections-path", str(target), str(tarball))
    return target / "ansible_collections" / "gaudi3" / "scale"


def tracked(*directories: str) -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *directories]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listing.splitlines() if (ROOT / name).is_file()}


def test_everything_that_runs_is_in_it(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        files = {member.name for member in archive.getmembers() if member.isfile()}
    assert tracked(*AT_RUN_TIME, "src") <= files


def test_nothing_else_is_in_it(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        top = {member.name.split("/")[0] for member in archive.getmembers()}
    assert top <= BESIDE | set(AT_RUN_TIME)


def test_nothing_generated_is_in_it(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = [member.name for member in archive.getmembers()]
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


def test_it_installs_into_an_empty_path(installed: Path) -> None:
    for name in (*AT_RUN_TIME, "README.md", "LICENSE", "CHANGELOG.md"):
        assert (installed / name).exists(), name


@pytest.mark.parametrize("playbook", ["site", "upgrade_driver", "upgrade_firmware", "build_bundle"])
def test_an_installed_playbook_is_found_by_its_name(installed: Path, playbook: str) -> None:
    reported = tasks_of(installed, playbook)
    if playbook == "site":
        # What starts, stops or writes something is only in a playbook of its own.
        roles = {role.name for role in (installed / "roles").iterdir()} - ACTION_ROLES
        assert {role for role in roles if role not in reported} == set()


def tasks_of(installed: Path, playbook: str) -> str:
    """What ``ansible-playbook --list-tasks`` prints, away from the checkout's own settings."""
    inventory = str(ROOT / "inventories" / "bare_metal")
    command = ["ansible-playbook", f"gaudi3.scale.{playbook}", "--list-tasks", "-i", inventory]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(installed.parents[2]), "ANSIBLE_NOCOLOR": "1"}
    environment.pop("ANSIBLE_CONFIG", None)
    done = subprocess.run(command, cwd=installed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_project_checkout_installs_itself(tmp_path: Path) -> None:
    """AWX installs ``requirements.yml`` from the root of a project it has checked out."""
    galaxy("install", "--offline", "--collections-path", str(tmp_path), "--requirements-file", "requirements.yml")
    assert (tmp_path / "ansible_collections" / "gaudi3" / "scale" / "MANIFEST.json").is_file()


BUILD = """
import json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import build
wheel = build()
print(json.dumps([wheel.file, wheel.sha256, wheel.version]))
"""


def wheel_of(collections: Path) -> list[str]:
    """File name, digest and version of the node library's wheel, as a controller with this collection writes it."""
    environment = {**os.environ, "PYTHONPATH": str(collections)}
    done = subprocess.run([sys.executable, "-c", BUILD], env=environment, cwd="/", capture_output=True, check=True)
    reported: list[str] = json.loads(done.stdout)
    return reported


def test_a_tarball_and_a_clone_bring_the_same_wheel(installed: Path, tmp_path: Path) -> None:
    """No build step ran for the one that git gave."""
    clone = tmp_path / "clone"
    for name in tracked():
        copy = clone / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    for words in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message", "a release")):
        subprocess.run(["git", *words], cwd=clone, check=True)
    galaxy("install", "--collections-path", str(tmp_path), f"git+{clone.as_uri()}", cwd=tmp_path)
    about = json.loads((installed / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]
    from_tarball = wheel_of(installed.parents[2])
    assert from_tarball == wheel_of(tmp_path)
    assert from_tarball[2] == about["version"]
