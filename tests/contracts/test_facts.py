# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's facts are its word: read under their own name, never a variable's, and never a path on the controller."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from .checkout import ROOT, name_of

FILES = sorted(
    path
    for folder in ("roles", "playbooks", "inventories", "molecule", "sandbox", "extensions")
    for pattern in ("*.yml", "*.j2")
    for path in (ROOT / folder).rglob(pattern)
)
# Variables with this prefix that Ansible itself or an inventory sets; every other one is an injected fact.
OF_ANSIBLE = re.compile(
    r"ansible_(facts|host|port|user|password|connection|check_mode|diff_mode|verbosity|version|limit|run_tags|skip_tags"
    r"|play_\w+|role_\w+|collection_name|config_file|playbook_python|python_interpreter|become\w*|ssh\w*|loop\w*"
    r"|parent_role_\w+|search_path|forks|inventory_sources|index_var|managed|pipelining|collections|core|lint"
    r"|shell_\w+|remote_tmp|async_dir|failed_\w+)"
)
TAKES_A_FILE = re.compile(r"include_tasks|import_tasks|include_vars|\.ya?ml|first_found|template|src:")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_fact_is_read_as_a_variable(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    names = {match[0] for match in re.finditer(r"(?<![\w.'\"/-])ansible_[a-z0-9_]+\b(?!:|=)", text)}
    assert not [name for name in names if not OF_ANSIBLE.fullmatch(name)]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_fact_never_leads_out_of_a_roles_own_folder(path: Path) -> None:
    """``os_family`` from a hostile node may read ``../../../some/file``, and the file would be read here."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if TAKES_A_FILE.search(line):
            facts = re.findall(r"ansible_facts\.[^\]}]*", line)
            assert all("basename" in fact for fact in facts), line


def test_facts_are_not_injected_as_variables() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg", encoding="utf-8")
    assert settings["defaults"]["inject_facts_as_vars"] == "False"
