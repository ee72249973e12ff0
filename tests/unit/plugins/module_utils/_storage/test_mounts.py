# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Mounts by systemd: what is refused before anything is touched, and what becomes of the rest when one fails."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.mounts import parse
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.sizes import bytes_of, shown
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.units import mount_table, unit_name
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._storage.mounting_node import MountingNode


@pytest.fixture
def node(tmp_path: Path) -> MountingNode:
    return MountingNode(tmp_path)


@pytest.fixture
def scratch(tmp_path: Path) -> dict[str, Any]:
    return {"path": str(tmp_path / "scratch"), "source": "/dev/nvme0n1", "type": "xfs"}


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_mount_is_a_unit_that_starts_at_every_boot_and_a_second_run_changes_nothing(
    node: MountingNode, scratch: dict[str, Any]
) -> None:
    planned = node.converge(check_mode=True, mounts=[scratch])
    assert planned["changed"] and not node.unit(scratch["path"]).exists() and len(node.mounted) == 1
    done = node.converge(mounts=[scratch])
    assert done["changed"] and done["diff"] == planned["diff"]
    assert node.mounted[scratch["path"]] == ("xfs", "/dev/nvme0n1")
    assert unit_name(scratch["path"]) in node.enabled
    assert "Options=noatime\n" in node.unit(scratch["path"]).read_text()
    node.calls.clear()
    again = node.converge(mounts=[scratch])
    assert (again["changed"], again["diff"]) == (False, [])
    assert not [call for call in node.calls if "restart" in call or "daemon-reload" in call]
    assert again["mounts"] == [{**{k: scratch[k] for k in ("path", "source", "type")}, "left_bytes": 1 << 40}]


def test_what_is_absent_is_unmounted_and_its_unit_goes(node: MountingNode, scratch: dict[str, Any]) -> None:
    node.converge(mounts=[scratch])
    gone = {"path": scratch["path"], "state": "absent"}
    assert node.converge(mounts=[gone])["changed"]
    assert scratch["path"] not in node.mounted and not node.unit(scratch["path"]).exists() and not node.enabled
    assert not node.converge(mounts=[gone])["changed"]


def test_what_is_in_use_is_not_unmounted_for_other_options(node: MountingNode, scratch: dict[str, Any]) -> None:
    node.converge(mounts=[scratch])
    before = node.unit(scratch["path"]).read_text()
    node.busy.add(scratch["path"])
    with pytest.raises(
        GaudiError, match=r"cannot be unmounted, and stays as it is \(.*target is busy\); end what uses it"
    ):
        node.converge(mounts=[{**scratch, "options": ["noatime", "discard"]}])
    assert node.unit(scratch["path"]).read_text() == before
    # That would stop each service that works below it.
    assert not [call for call in node.calls if call.startswith("systemctl stop")]
    node.busy.clear()
    assert node.converge(mounts=[{**scratch, "options": ["noatime", "discard"]}])["changed"]


def test_one_that_fails_stops_no_other_and_is_tried_again(
    node: MountingNode, scratch: dict[str, Any], tmp_path: Path, port: int
) -> None:
    data = {"path": str(tmp_path / "data"), "source": "127.0.0.1:/export", "options": ["ro", f"port={port}"]}
    node.refuses[data["path"]] = "mount.nfs: access denied by server while mounting 127.0.0.1:/export"
    with pytest.raises(GaudiError, match=r"data cannot be mounted \(mount.nfs: access denied by server") as refused:
        node.converge(mounts=[data, scratch])
    assert scratch["path"] in node.mounted
    assert refused.value.facts["mounts"][0]["path"] == scratch["path"]
    node.refuses.clear()
    assert node.converge(mounts=[data, scratch])["changed"]
    assert node.mounted[data["path"]] == ("nfs", "127.0.0.1:/export")
    assert f"Options=ro,port={port},_netdev" in node.unit(data["path"]).read_text()


def test_too_little_room_is_said_and_the_mount_stays(node: MountingNode, scratch: dict[str, Any]) -> None:
    node.free = 1 << 30
    with pytest.raises(GaudiError, match=r"has 1 GiB left for gaudi, and 2 TiB are asked for"):
        node.converge(mounts=[{**scratch, "free": "2T"}])
    assert scratch["path"] in node.mounted


def test_a_quota_of_lustre_counts(node: MountingNode, tmp_path: Path) -> None:
    node.quota = f"{tmp_path}/l 900 0 1024 - 5 0 0 -\n"
    with pytest.raises(GaudiError, match="has 124 KiB left for gaudi, and 1 GiB are asked for"):
        node.converge(
            mounts=[{"path": str(tmp_path / "l"), "source": "10.0.0.5@o2ib:/x", "type": "lustre", "free": "1G"}]
        )


REFUSED = [
    ({"path": "mnt/x"}, "has the path 'mnt/x'; write a plain absolute one"),
    ({"path": "/mnt/../etc"}, "write a plain absolute one"),
    ({"path": "/usr"}, "which the system itself needs"),
    ({"path": "/mnt/a b"}, "write a plain absolute one"),
    ({"path": "/mnt/x", "source": "filer"}, "has the source 'filer'; for nfs write one like filer:/export/datasets"),
    ({"path": "/mnt/x", "source": "filer:/a -o suid"}, "for nfs write one like"),
    ({"path": "/mnt/x", "source": "filer:/a", "type": "lustre", "options": ["a b"]}, "has the option 'a b'"),
    ({"path": "/mnt/x", "source": "filer:/a", "options": ["soft"]}, "mounted soft and not ro"),
    ({"path": "/var/lib", "source": "filer:/a"}, "/var/lib/gaudi3_scale would come to lie on nfs"),
    ({"path": "/mnt/x", "source": "filer:/a", "free": "lots"}, "free of /mnt/x is 'lots'; give bytes, or a size"),
    ({"path": "/mnt/x", "source": "/dev/../etc/shadow ", "type": "ext4"}, "for ext4 write one like /dev/disk"),
]


@pytest.mark.parametrize(("mount", "sentence"), REFUSED, ids=[sentence for _mount, sentence in REFUSED])
def test_what_cannot_be_meant_is_refused(node: MountingNode, mount: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=r"mounts has|write|mounted|come to|free of|system") as refused:
        node.converge(mounts=[mount], local_places=["/var/lib/gaudi3_scale"])
    assert sentence in str(refused.value)
    assert not list((node.etc / "systemd/system").iterdir()) and not node.calls


def test_twice_the_same_place_is_refused() -> None:
    with pytest.raises(GaudiError, match="mounts has /mnt/x twice"):
        parse([{"path": "/mnt/x", "source": "a:/b"}, {"path": "/mnt/x", "source": "a:/c"}], [])


def test_a_parent_comes_before_what_is_below_it() -> None:
    found = parse([{"path": "/mnt/x/y", "source": "a:/b"}, {"path": "/mnt/x", "source": "a:/c"}], [])
    assert [mount.path for mount in found] == ["/mnt/x", "/mnt/x/y"]


def test_what_belongs_to_others_is_left_alone(node: MountingNode, scratch: dict[str, Any], tmp_path: Path) -> None:
    def refused() -> str:
        with pytest.raises(GaudiError) as said:
            node.converge(mounts=[scratch])
        return str(said.value)

    place = Path(scratch["path"])
    (node.etc / "fstab").write_text(f"# a\nLABEL=x {place} xfs defaults 0 0\n")
    assert f"is in {node.etc}/fstab line 2" in refused()
    (node.etc / "fstab").write_text("")
    node.unit(scratch["path"]).write_text("[Mount]\n")
    assert "was not created by this collection" in refused()
    node.unit(scratch["path"]).unlink()
    node.mount(scratch["path"], "xfs", "/dev/other")
    assert "/dev/other is mounted at" in refused()
    del node.mounted[scratch["path"]]
    node.mount("/", "ext4", "/dev/sda1")
    place.mkdir()
    (place / "thesis.tex").write_text("")
    assert "is not empty, and a mount would hide what is there" in refused()
    (place / "thesis.tex").unlink()
    place.rmdir()
    place.symlink_to(tmp_path)
    assert "leads to" in refused()
    place.unlink()
    tmp_path.chmod(0o777)
    assert "can be written by users other than root" in refused()
    tmp_path.chmod(0o755)
    node.disks["/dev/nvme0n1"] = "ext4"
    assert "has ext4, and xfs is to be mounted" in refused() and "nothing is formatted" in refused()
    node.disks.clear()
    assert "has no file system, or is not there" in refused()
    assert len(node.mounted) == 1 and not node.enabled


def test_a_server_that_does_not_answer_is_named_at_once(node: MountingNode, tmp_path: Path, port: int) -> None:
    closed = {"path": str(tmp_path / "d"), "source": "127.0.0.1:/x", "options": ["port=1"]}
    with pytest.raises(GaudiError, match=r"127\.0\.0\.1 does not answer at port 1, for .*/d \(Connection refused"):
        node.converge(mounts=[closed])
    assert not node.calls


@pytest.mark.parametrize("path", ["/mnt/data-sets", "/srv/a.b/c:d", "/mnt/x@y+z", "/.hidden/a", "/mnt/a_b"])
def test_a_unit_is_called_as_systemd_calls_it(path: str) -> None:
    if not shutil.which("systemd-escape"):
        pytest.skip("no systemd-escape here")
    asked = subprocess.run(["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True)
    assert unit_name(path) == asked.stdout.strip()


def test_the_mount_table_of_this_machine_can_be_read() -> None:
    assert "/" in mount_table()


@pytest.mark.parametrize(("text", "size"), [("2T", 2 << 40), ("512M", 512 << 20), ("7", 7), (7, 7), ("1gib", 1 << 30)])
def test_sizes(text: object, size: int) -> None:
    assert bytes_of(text, "x") == size


def test_sizes_are_shown_in_three_digits() -> None:
    assert [shown(1536), shown(0), shown(3 << 40)] == ["1.5 KiB", "0 B", "3 TiB"]
