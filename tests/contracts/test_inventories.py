# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the examples of inventories set, or propose in a comment, are options, with values of their types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import SHARED, values_refusal

from scripts.role_readmes import options_of

from .checkout import ROLES, ROOT, is_templated, name_of, read_yaml

FILES = sorted((ROOT / "inventories").glob("*/group_vars/*.yml"))
OPTIONS: dict[str, dict[str, Any]] = {
    name: option
    for role in ROLES
    for name, option in options_of(read_yaml(role / "meta" / "argument_specs.yml")["argument_specs"]).items()
}
# A setting in a comment: an option's name and a value, or what lies deeper below one.
PROPOSED = re.compile(r"^# (?=gaudi_\w+:(?: |$)|  +\S)", re.MULTILINE)
# What an operator has to go through before the first run; whatever else there is, the roles' READMEs list.
MATTER = range(15, 26)


def set_in(path: Path) -> dict[str, Any]:
    """Our variables of a file, with those that it proposes."""
    found: dict[str, Any] = yaml.safe_load(PROPOSED.sub("", path.read_text(encoding="utf-8")))
    return {name: value for name, value in found.items() if name.startswith("gaudi_")}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_variable_of_an_example_is_an_option(path: Path) -> None:
    assert [name for name in set_in(path) if name not in {*OPTIONS, *SHARED}] == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_its_value_is_of_the_option_s_type(path: Path) -> None:
    given = {name: value for name, value in set_in(path).items() if not is_templated(value)}
    assert values_refusal("node1", given) == ""
    of_roles = {name: value for name, value in given.items() if name in OPTIONS}
    known = {name: {key: of for key, of in OPTIONS[name].items() if key != "default"} for name in of_roles}
    assert ArgumentSpecValidator(known).validate(of_roles).error_messages == []


def test_an_operator_s_example_has_the_variables_that_matter() -> None:
    folder = ROOT / "inventories" / "bare_metal" / "group_vars"
    named = {name for path in folder.glob("*.yml") for name in set_in(path)}
    assert len(named) in MATTER, sorted(named)
    assert {
        "gaudi_release",
        "gaudi_cards_per_node",
        "gaudi_packages_url",
        "gaudi_proxy",
        "gaudi_report_target",
    } <= named
