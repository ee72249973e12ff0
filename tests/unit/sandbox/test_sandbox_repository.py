# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the package repository is built from: packages, pip pages, the simulated plugin."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from plugins.module_utils._node import shell_profile
from sandbox.repository import packages, wheels
from sandbox.repository.pytorch_bundle import PLUGIN, plugin_wheel
from sandbox.simulator.releases import RELEASES

NAMES = {
    "habanalabs-dkms", "habanalabs-firmware", "habanalabs-firmware-tools", "habanalabs-firmware-odm",
    "habanalabs-thunk", "habanalabs-rdma-core", "habanalabs-graph", "habanalabs-qual", "habanalabs-qual-workloads",
    "habanalabs-container-runtime",
}  # fmt: skip
PROFILES = ("/etc/profile.d/habanalabs-rdma-core.sh", "/etc/profile.d/habanalabs.sh")


def bridge_libraries() -> ModuleType:
    """The stand-in's own module, without the package around it, which is not to be importable here."""
    path = PLUGIN / "habana_frameworks/torch/libraries.py"
    spec = importlib.util.spec_from_file_location("stand_in_libraries", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", ["1.23.0-695", "1.24.1-482"])
def test_a_release_has_all_packages_at_one_version(version: str) -> None:
    made = packages.all_packages(RELEASES[version])
    assert {package.name for package in made} == NAMES
    assert {package.version for package in made} == {version}
    inside = [needed for package in made for needed in package.depends if needed.startswith("habanalabs")]
    assert inside
    assert all(needed.endswith(f"(= {version})") for needed in inside)


def test_every_package_says_that_it_is_simulated() -> None:
    for package in packages.all_packages(RELEASES["1.24.1-482"]):
        assert "(simulated)" in package.control()


def test_control_has_no_empty_field() -> None:
    control = packages.firmware(RELEASES["1.24.1-482"]).control()
    assert "Depends" not in control
    assert control.startswith("Package: habanalabs-firmware\nVersion: 1.24.1-482\nArchitecture: amd64\n")


@pytest.mark.parametrize("version", RELEASES)
def test_the_packages_have_a_profile_and_the_files_that_it_names(version: str) -> None:
    files = {path: one for package in packages.libraries(RELEASES[version]) for path, one in package.files.items()}
    assert set(PROFILES) == {path for path in files if path.startswith("/etc/")}
    found = None
    for path in PROFILES:
        found = shell_profile.parse(files[path].content, found)
        assert found.unread is None
    assert found is not None
    values = {name: str(found.variables[name]) for name in bridge_libraries().PLACES}
    assert [place for place in values.values() if not any(path.startswith(place) for path in files)] == []


def test_a_profile_is_a_configuration_file_of_its_package() -> None:
    made = packages.libraries(RELEASES["1.24.1-482"])
    assert [path for package in made for path in package.configuration_files] == list(PROFILES)


def test_the_stand_in_for_the_bridge_refuses_without_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = bridge_libraries()
    for name in libraries.PLACES:
        monkeypatch.setenv(name, str(tmp_path))
    libraries.load()
    monkeypatch.setenv("RDMA_CORE_LIB", f"{tmp_path}/gone")
    with pytest.raises(ImportError, match=r"/gone: cannot open shared object file: .*RDMA_CORE_LIB"):
        libraries.load()
    monkeypatch.delenv("GC_KERNEL_PATH")
    with pytest.raises(ImportError, match=r"^\$GC_KERNEL_PATH: cannot open shared object file"):
        libraries.load()


def test_the_driver_s_source_carries_its_release() -> None:
    files = packages.dkms(RELEASES["1.23.0-695"]).files
    source = "/usr/src/habanalabs-1.23.0-695"
    assert 'PACKAGE_VERSION="1.23.0-695"' in files[f"{source}/dkms.conf"].content
    assert 'AUTOINSTALL="yes"' in files[f"{source}/dkms.conf"].content
    assert '"1.23.0-2eae87a"' in files[f"{source}/habanalabs.c"].content
    assert not [path for path, packaged in files.items() if "@PACKAGE@" in packaged.content]


def test_qualification_tools_exist_for_both_generations() -> None:
    files = packages.qual(RELEASES["1.24.1-482"]).files
    for generation in ("gaudi2", "gaudi3"):
        assert files[f"/opt/habanalabs/qual/{generation}/bin/hl_qual"].mode == 0o755
        assert files[f"/opt/habanalabs/qual/{generation}/bin/manage_network_ifs.sh"].mode == 0o755


def test_pip_takes_a_wheel_from_the_repository_s_pages_and_checks_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = wheels.decoy_wheel()
    served, fetched = tmp_path / "packages", tmp_path / "fetched"
    served.mkdir()
    (served / name).write_bytes(content)
    wheels.write_pages(tmp_path, served)
    # A machine's own settings of pip name other indexes and hold versions.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--dest", str(fetched)]
    command = [*pip, "--index-url", f"file://{tmp_path}/simple", "torch"]
    subprocess.run(command, check=True, capture_output=True)
    assert [path.name for path in fetched.iterdir()] == [name]
    (fetched / name).unlink()
    (served / name).write_bytes(content + b" ")
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert list(fetched.iterdir()) == []


def test_the_plugin_s_wheel_says_that_it_is_simulated() -> None:
    name, content = plugin_wheel("1.24.1-482")
    assert name == "habana_torch_plugin-1.24.1.482+simulated-py3-none-any.whl"
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        assert "habana_frameworks/torch/hpu.py" in wheel.namelist()
        metadata = wheel.read("habana_torch_plugin-1.24.1.482+simulated.dist-info/METADATA").decode()
    assert "Version: 1.24.1.482+simulated\n" in metadata
    assert "Summary: Simulated" in metadata


def test_the_plugin_s_wheel_is_the_same_every_time() -> None:
    assert plugin_wheel("1.24.1-482") == plugin_wheel("1.24.1-482")


def test_the_index_is_never_asked_for_a_wheel_of_ours() -> None:
    """A real one has none, and whoever put one there would run code as root."""
    named = [requirement.split("=")[0] for requirement in wheels.requirements()]
    assert {"lightning>", "boto3>", "transformers>", "accelerate", "optuna>"} <= set(named)
    assert not [name for name in named if name.startswith(("gaudi", "torch"))]


def test_the_index_offers_a_torch_that_must_not_be_taken() -> None:
    name, content = wheels.decoy_wheel()
    assert name == "torch-2.99.0-py3-none-any.whl"
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        assert b"raise ImportError" in wheel.read("torch/__init__.py")
