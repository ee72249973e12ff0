# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Other tools' settings as ours: what is kept, that each has an answer, and that nothing of them is more than data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import (
    KEPT,
    LOOK,
    NOT_HERE,
    NOT_NEEDED,
    VERDICTS,
    Answer,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.plan import TABLES, Plan, plan
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.screen import screen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.sources import read_sources
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._migration.other_tools import (
    DEEPOPS,
    INSTALLER,
    OMNIA,
    RECIPE,
    SECRET,
    TOOLS,
    written,
)

ROOT = Path(__file__).resolve().parents[5]


def planned(folder: Path, files: Mapping[str, str]) -> Plan:
    return plan(read_sources([str(written(folder, files))]))


def files_of(found: Plan) -> dict[str, Any]:
    return {one.name: yaml.safe_load(one.content) for one in found.documents}


def answer(found: Plan, name: str) -> Answer:
    (one,) = [one for one in found.answers if one.name == name]
    return one


def test_omnia_s_nodes_release_mirror_and_kernel_arguments_are_kept(tmp_path: Path) -> None:
    found = planned(tmp_path, OMNIA)
    files = files_of(found)
    assert files["hosts.yml"] == {
        "gaudi": {
            "hosts": {
                "gaudi-01": {"ansible_host": "10.5.0.101"},
                "10.5.0.102": {"ansible_port": 2222},
                "10.5.0.103": {"ansible_port": 2222},
            }
        }
    }
    assert files["group_vars/all.yml"] == {"ansible_user": "ubuntu"}
    assert files["group_vars/gaudi.yml"] == {
        "gaudi_release": "1.19.2",
        "gaudi_packages_url": "http://10.5.0.2/habana",
        "gaudi_host_kernel_arguments": ["iommu=pt", "processor.max_cstate=0", "intel_iommu=on"],
        "ansible_become": True,
    }
    said = {
        "softwares.intelgaudi": KEPT,
        "intelgaudi.cluster": NOT_NEEDED,
        "softwares.k8s": NOT_HERE,
        "run_intel_gaudi_tests": NOT_NEEDED,
        "pod_external_ip_range": NOT_NEEDED,
        "site_invention": LOOK,
        "grafana_username": LOOK,
        "slurm_control_node": NOT_HERE,
        "ansible_ssh_common_args": LOOK,
        "lists of packages": NOT_NEEDED,
        "login": NOT_HERE,
    }
    assert {name: answer(found, name).verdict for name in said} == said
    assert "gaudi_drain_host" in answer(found, "slurm_control_node").text


def test_deepops_s_nodes_and_proxy_are_kept_and_its_mounts_stay_in_fstab(tmp_path: Path) -> None:
    found = planned(tmp_path, DEEPOPS)
    files = files_of(found)
    assert files["hosts.yml"] == {
        "gaudi": {
            "hosts": {
                "gpu01": {"ansible_host": "10.0.2.1", "ansible_port": 2222},
                "gpu02": {"ansible_host": "10.0.2.2"},
            }
        }
    }
    proxy = {"http_proxy": "http://10.0.2.5:3128", "no_proxy": "localhost,10.0.2.10"}
    assert files["group_vars/all.yml"] == {"ansible_user": "ubuntu", "gaudi_proxy": proxy}
    assert files["group_vars/gaudi.yml"]["ansible_python_interpreter"] == "/usr/bin/python3"
    assert answer(found, "ansible_port").value == "of gpu09"
    assert "Docker's own file stays" in answer(found, "docker_daemon_json").text
    assert answer(found, "proxy_env").verdict == LOOK and "template" in answer(found, "proxy_env").text
    assert "/etc/fstab" in answer(found, "nfs_mounts").text
    assert answer(found, "hl_custom_hugepage").text == "of gpu01 alone: set gaudi_host_hugepages for that host"


def test_a_recipe_s_variables_are_kept_and_its_tasks_only_counted(tmp_path: Path) -> None:
    found = planned(tmp_path, RECIPE)
    files = files_of(found)
    assert files["hosts.yml"] == {"gaudi": {"hosts": {}}}
    assert files["group_vars/gaudi.yml"] == {
        "gaudi_release": "1.22.0",
        "gaudi_host_hugepages": 17601,
        "gaudi_venv_requirements": ["lightning==2.6.6", "einops==0.8.0"],
        "ansible_become": True,
    }
    assert answer(found, "tasks").value == "2 tasks"
    assert answer(found, "habana_packages").verdict == NOT_NEEDED


def test_an_installer_s_script_and_a_list_of_packages_tell_the_release(tmp_path: Path) -> None:
    found = planned(tmp_path, INSTALLER)
    assert files_of(found)["group_vars/gaudi.yml"] == {
        "gaudi_release": "1.21.3",
        "gaudi_driver_load_modules": False,
        "ansible_become": True,
    }
    assert answer(found, "habanalabs packages").value == "1.21.3-57"
    assert answer(found, "habanalabs-installer.sh --type base").verdict == NOT_NEEDED
    assert answer(found, "other lines").value == "1 lines"


@pytest.mark.parametrize("tool", TOOLS)
def test_each_setting_has_an_answer_and_no_secret_is_on_the_screen(tool: str, tmp_path: Path) -> None:
    sources = read_sources([str(written(tmp_path, TOOLS[tool]))])
    found = plan(sources)
    told = {(one.file, one.name) for one in found.answers}
    assert {(one.file, one.name) for one in sources.settings} <= told
    assert {one.verdict for one in found.answers} <= set(VERDICTS) and all(one.text for one in found.answers)
    shown = "\n".join(screen(found))
    assert SECRET not in shown + repr(found.answers)
    assert [name for _file, name in told if name not in shown] == []


def test_of_two_releases_the_first_counts_and_the_other_is_named(tmp_path: Path) -> None:
    found = planned(tmp_path, {"a.sh": "gaudi-installer/1.21.3/\n", "b.txt": "habanalabs-dkms=1.22.0-740\n"})
    assert files_of(found)["group_vars/gaudi.yml"]["gaudi_release"] == "1.21.3"
    assert answer(found, "habanalabs packages").text == "gaudi_release is 1.21.3 by an earlier setting, which counts"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("habana_version: 9.9.9", "this release is not in the table"),
        ("sub_habana_version: 1.22.0-1", "1.22.0 has build 740 here"),
        ("hl_custom_hugepage: many", "it is not a number of pages"),
        ("http_proxy: http://name:word@proxy:1", "it is not a plain URL, or has credentials"),
        ("habana_version: '{{ wanted }}'", "it is a template"),
        ("habana_packages: [curl]", "it is not a list of the vendor's packages"),
    ],
)
def test_a_value_that_cannot_be_kept_is_looked_at(text: str, expected: str, tmp_path: Path) -> None:
    found = planned(tmp_path, {"vars.yml": text})
    (one,) = found.answers
    assert one.verdict == LOOK and expected in one.text
    assert "word" not in one.value
    assert files_of(found)["group_vars/gaudi.yml"] == {"ansible_become": True}


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "n1;x"])
def test_a_host_that_ssh_would_take_for_something_else_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="address"):
        planned(tmp_path, {"inventory": f"[slurm_node]\nn1 ansible_host='{name}'\n"})


def test_without_a_group_that_computes_all_hosts_are_taken_and_that_is_said(tmp_path: Path) -> None:
    found = planned(
        tmp_path, {"hosts.yaml": "all:\n  hosts:\n    n1: {ip: 10.0.0.1}\n  children:\n    web:\n      hosts: {n1: }\n"}
    )
    assert files_of(found)["hosts.yml"] == {"gaudi": {"hosts": {"n1": None}}}
    assert answer(found, "all hosts").verdict == LOOK


def test_pages_and_variables_that_answers_name_are_there() -> None:
    texts = " ".join(rule.text for table in TABLES for rule in table.values())
    words = {word.strip(",;:.)") for word in texts.split()}
    pages = {word for word in words if word.startswith("docs/")}
    assert pages and [page for page in pages if not (ROOT / page).is_file()] == []
    playbooks = {word for word in words if word.endswith(".yml")}
    assert playbooks and [name for name in playbooks if not (ROOT / "playbooks" / name).is_file()] == []
    options = {word for word in words if word.startswith("gaudi_")}
    known = (ROOT / "docs" / "catalog.md").read_text() + "".join(
        path.read_text() for path in (ROOT / "roles").glob("*/README.md")
    )
    assert options and [option for option in options if option not in known] == []
