# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``collect_support_bundle.yml`` on two nodes, of which one has secrets in its logs, and a log that leads elsewhere."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

SECRET, SHADOW = "Zq7pLantEd0Value", "x-of-roots-own-file-x"
LOGS = "/var/log/habana_logs/planted"
PLANT = f"""
mkdir -p {LOGS}
printf 'api_key: {SECRET}\\nsh[1]: env WANDB_API_KEY={SECRET} train.py\\nsynStatus 26\\n' > {LOGS}/one.log
echo {SHADOW} > /root/shadow.log
ln -s /root/shadow.log {LOGS}/link.log
ln /root/shadow.log {LOGS}/hard.log 2>/dev/null || true
mkfifo {LOGS}/pipe.log
"""


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module", autouse=True)
def planted(nodes: dict[str, Host]) -> Iterator[None]:
    nodes["node1"].check_output(PLANT)
    yield
    nodes["node1"].check_output(f"rm -rf {LOGS} /root/shadow.log")


def members(archive: Path) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as opened:
        return {
            member.name.removeprefix("support/"): opened.extractfile(member).read().decode()  # type: ignore[union-attr]
            for member in opened.getmembers()
        }


def test_each_node_has_an_archive_without_the_planted_secrets(nodes: dict[str, Host], tmp_path: Path) -> None:
    # No job has this name on any node: each says so, and has all the rest.
    wanted = {"gaudi_support_jobs": ["nobody-knows-it"], "gaudi_report_target": str(tmp_path)}
    done = run(tmp_path, "collect_support_bundle", **wanted)
    assert done.status == "successful", done.stdout.read()[-4000:]
    told = json.loads((tmp_path / "support_bundle.json").read_text())
    assert {row["node"]: row["state"] for row in told["rows"]} == dict.fromkeys(nodes, "collected")
    found = {node: members(tmp_path / f"support-{node}.tar.gz") for node in nodes}
    for node, texts in found.items():
        assert not [name for name, text in texts.items() if SECRET in text or SHADOW in text], node
        assert json.loads(texts["versions.json"])["cards"] == 8
        assert "HL-" in texts["cards/hl-smi.txt"] and texts["cards/firmware.txt"]
        assert "jobs/nobody-knows-it: not here (this node does not know it)" in texts["INDEX.txt"]
        assert (tmp_path / f"support-{node}.tar.gz").stat().st_mode & 0o777 == 0o600
    assert "synStatus 26" in found["node1"]["logs/habana/planted/one.log"]
    assert [name for name in found["node1"] if "/planted/" in name] == ["logs/habana/planted/one.log"]
    assert (tmp_path / "support_bundle.html").exists()
    assert not nodes["node1"].check_output("find /var /tmp /root /opt -xdev -name 'support*.tar.gz'")
    refused = run(tmp_path, "collect_support_bundle", **wanted, gaudi_support_max_mib=0)
    assert refused.status == "failed"
    assert "gaudi_support_max_mib is 0" in refused.stdout.read()


@pytest.mark.in_turn
def test_check_mode_shows_what_would_be_in_them_and_stores_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "collect_support_bundle", arguments="--check", gaudi_report_target=str(tmp_path / "reports"))
    screen = done.stdout.read()
    assert done.status == "successful", screen[-4000:]
    assert "logs/habana/planted/one.log" in screen and "cards/hl-smi.txt" in screen
    assert SECRET not in screen and SHADOW not in screen
    assert not (tmp_path / "reports").exists()
