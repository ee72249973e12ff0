# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Images on a node by a registry that answers as skopeo tells it; layers are real, and so is what unpacks them. A real
skopeo and a real registry are asked on nodes (molecule/images)."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import tarfile
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.reference import parse_reference
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.image_store import (
    ARCHITECTURES,
    KEPT_S,
    ImageOptions,
    bring,
    image_directory,
    read_image,
    refusal,
    resolve,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import account

USER = getpass.getuser()
NAME = "registry.example.org:5000/team/train"
HERE = ARCHITECTURES.get(platform.machine(), platform.machine())


@dataclass
class Registry:
    """Answers for skopeo; everything else is run."""

    configuration: dict[str, object] = field(default_factory=lambda: {"os": "linux", "architecture": HERE})
    fails: str = ""
    asked: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def config(self) -> bytes:
        return json.dumps(self.configuration).encode()

    @property
    def manifest(self) -> bytes:
        return json.dumps({"config": {"digest": digest(self.config)}, "layers": [{"digest": digest(LAYER)}]}).encode()

    def __call__(self, argv, *, timeout=None, env=None):
        if argv[0] != "skopeo":
            return run_process(argv, timeout=timeout, env=env)
        self.asked.append(tuple(argv))
        if self.fails:
            return CommandResult(1, "", f'time="now" level=fatal msg="{self.fails}"\n')
        if argv[1] == "inspect":
            return CommandResult(0, (self.manifest if argv[2] == "--raw" else self.config).decode(), "")
        layout = Path(argv[-1].split(":")[1])
        (layout / "blobs/sha256").mkdir(parents=True)
        for blob in (self.config, self.manifest, LAYER):
            (layout / "blobs/sha256" / digest(blob).partition(":")[2]).write_bytes(blob)
        (layout / "index.json").write_text(json.dumps({"manifests": [{"digest": digest(self.manifest)}]}))
        return CommandResult(0, "", "")


def digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def layer() -> bytes:
    written = BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        member = tarfile.TarInfo("etc/of-the-image")
        archive.addfile(member)
    return written.getvalue()


LAYER = layer()


def options(tmp_path: Path, image: str, **changes: object) -> ImageOptions:
    return ImageOptions(parse_reference(image), USER, state_directory=str(tmp_path), **changes)


def test_a_tag_becomes_the_digest_of_its_manifest(tmp_path):
    registry = Registry()
    found, configuration = resolve(options(tmp_path, f"{NAME}:v1"), registry)
    assert found.pinned == f"{NAME}@{digest(registry.manifest)}"
    assert configuration == registry.configuration
    assert registry.asked[0] == ("skopeo", "inspect", "--raw", f"docker://{NAME}:v1")


def test_an_archive_is_known_by_its_configuration(tmp_path):
    registry = Registry()
    found, _configuration = resolve(options(tmp_path, "oci-archive:/srv/t.tar"), registry)
    assert found.pinned == f"oci-archive:/srv/t.tar@{digest(registry.config)}"


def test_a_named_host_is_asked_without_tls(tmp_path):
    registry = Registry()
    bring_it(tmp_path, registry, plain_http_hosts=("registry.example.org",))
    assert all(any("tls-verify=false" in word for word in asked) for asked in registry.asked)
    assert registry.asked[-1][3] == "--src-tls-verify=false"


def bring_it(tmp_path: Path, registry: Registry, *, check_mode: bool = False, **changes: object) -> dict[str, object]:
    pinned = f"{NAME}@{digest(registry.manifest)}"
    return bring(options(tmp_path, pinned, **changes), registry, check_mode=check_mode)


def test_it_is_fetched_once_and_unpacked(tmp_path):
    registry = Registry(configuration={"os": "linux", "architecture": HERE, "config": {"Env": ["A=1"]}})
    first = bring_it(tmp_path, registry)
    assert first["changed"] is True
    directory = str(first["directory"])
    assert directory == image_directory(str(first["image"]), JobPaths("x", str(tmp_path)).images(USER))
    assert (Path(directory) / "rootfs/etc/of-the-image").is_file()
    assert read_image(directory, account(USER)) == registry.configuration
    asked = len(registry.asked)
    second = bring_it(tmp_path, registry)
    assert (second["changed"], len(registry.asked)) == (False, asked)
    assert [path.name for path in Path(directory).parent.iterdir()] == [Path(directory).name]


def test_check_mode_looks_and_writes_nothing(tmp_path):
    registry = Registry()
    assert bring_it(tmp_path, registry, check_mode=True)["changed"] is True
    assert list(tmp_path.iterdir()) == []
    assert [asked[1] for asked in registry.asked] == ["inspect", "inspect"]


def test_what_was_cut_off_is_begun_anew(tmp_path):
    registry = Registry()
    directory = image_directory(f"{NAME}@{digest(registry.manifest)}", JobPaths("x", str(tmp_path)).images(USER))
    (Path(directory) / "rootfs").mkdir(parents=True)
    (Path(f"{directory}.new") / "layout").mkdir(parents=True)
    (Path(f"{directory}.new") / "layout/half").touch()
    (Path(f"{directory}.new") / "image/rootfs").mkdir(parents=True)
    assert read_image(directory, account(USER)) is None
    assert bring_it(tmp_path, registry)["changed"] is True
    assert (Path(directory) / "rootfs/etc/of-the-image").is_file()
    assert not (Path(directory) / "image").exists()
    assert not Path(f"{directory}.new").exists()


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("is_named", [True, False])
def test_an_image_that_nobody_has_asked_for_is_removed_with_the_next(tmp_path, is_old, is_named):
    registry = Registry()
    first = bring_it(tmp_path, registry)
    if is_named:
        description = Path(JobPaths("llama", str(tmp_path)).description)
        description.parent.mkdir(parents=True)
        description.write_text(json.dumps({"image": first["image"]}))
    if is_old:
        then = time.time() - KEPT_S - 60
        os.utime(str(first["directory"]), (then, then))
    registry.configuration = {**registry.configuration, "created": "later"}
    bring_it(tmp_path, registry)
    assert Path(str(first["directory"])).exists() is (is_named or not is_old)


@pytest.mark.parametrize(
    ("configuration", "has"),
    [
        ({"os": "linux", "architecture": "s390y"}, "linux/s390y"),
        ({"os": "windows", "architecture": HERE}, f"windows/{HERE}"),
        ({}, "None/None"),
    ],
)
def test_an_image_of_another_machine_is_refused_before_anything_is_written(tmp_path, configuration, has):
    with pytest.raises(GaudiError) as refused:
        bring_it(tmp_path, Registry(configuration=configuration))
    assert f"is for {has}, and this node is linux/{HERE}; build it for linux/{HERE}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_another_one_on_this_node_is_refused(tmp_path):
    wanted = f"oci-archive:/srv/t.tar@sha256:{'1' * 64}"
    with pytest.raises(GaudiError, match=r"has digest sha256:\w{64} on this node, and the job asks for sha256:1{64}"):
        bring(options(tmp_path, wanted), Registry(), check_mode=False)
    assert list(tmp_path.iterdir()) == []


# As skopeo 1.9 and its registries say it (the chain before the last colon is left out where it says no more).
@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "pinging container registry registry.example.org:5000: http: server gave HTTP response to HTTPS client",
            "use one with TLS, or name registry.example.org in plain_http_hosts (gaudi_plain_http_hosts).",
        ),
        ("reading manifest v1 in registry.example.org:5000/team/train: manifest unknown", "is not there any more"),
        ("reading manifest v1: name unknown: repository name not known to registry", "is not there any more"),
        ("open /srv/t.tar: no such file or directory", "is not there any more"),
        ("unauthorized: authentication required", "may not be fetched by the job's account; log in as that account"),
        ("x509: certificate signed by unknown authority", "whose certificate this node does not trust"),
        ("Manifest does not match provided manifest digest sha256:1", "has another content than its digest says"),
        (
            'no image found in manifest list for architecture s390x, variant \\"\\", OS linux',
            "is not there for Linux on",
        ),
        ("dial tcp 192.0.2.1:5000: connect: connection refused", "cannot be had: dial tcp 192.0.2.1:5000: connect:"),
    ],
)
def test_what_skopeo_says_is_one_sentence(tmp_path, said, sentence):
    with pytest.raises(GaudiError) as refused:
        resolve(options(tmp_path, f"{NAME}:v1"), Registry(fails=said.replace('\\"', "")))
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(f"image {NAME}:v1 ")
    assert "\n" not in str(refused.value)


def test_a_node_without_skopeo_and_a_silent_registry_are_said():
    image = parse_reference(f"{NAME}:v1")
    assert "install the package skopeo" in str(refusal(image, CommandResult(127, "", "skopeo: not installed"), 1))
    assert "did not come within 120 s" in str(refusal(image, CommandResult(124, "", ""), 120))
