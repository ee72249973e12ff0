# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What another tool has set, as an inventory and variables of ours, with an answer to each of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import is_secret, without_secrets
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import (
    KEPT,
    LOOK,
    NOT_NEEDED,
    Answer,
    Rule,
    Setting,
    is_template,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.deepops import DEEPOPS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.inventory_text import merged
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.nodes import FILE, nodes_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.omnia import OMNIA
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.recipes import RECIPES, SCRIPTS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.render import documents
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.sources import OPTION, Sources
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.yaml_data import Encrypted
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document

# A name is in one table, or means the same in each: a file need not say whose it is.
TABLES = (RECIPES, SCRIPTS, OMNIA, DEEPOPS)
_LONGEST_VALUE = 60
_UNKNOWN = "no table here knows it; look whether a node needs it"


@dataclass(frozen=True)
class Plan:
    """The files of ours, and the answers in the order of their files."""

    documents: Sequence[Document]
    answers: Sequence[Answer]


def plan(sources: Sources) -> Plan:
    """Raises GaudiError where there is nothing to take over, or an inventory cannot be one of ours."""
    try:
        nodes = nodes_of(merged(iter(sources.inventories)), sources.addresses)
    except ValueError as error:
        raise GaudiError(f"{OPTION}: the inventory cannot be taken over: {error}.") from error
    variables: dict[str, Any] = dict(nodes.shared)
    given = [*sources.settings, *(Setting(FILE, name, value) for name, value in nodes.others)]
    answers = [*nodes.answers, *_all_answers(given, variables)]
    answers += [Answer(name, "the file", "", LOOK, f"not read: {why}") for name, why in sources.unread.items()]
    if not answers:
        raise GaudiError(f"{OPTION} has no settings and no inventory; name the other tool's files or their directory.")
    return Plan(documents(nodes.hosts, variables), answers)


def _all_answers(settings: Sequence[Setting], variables: dict[str, Any]) -> Iterator[Answer]:
    """One for each setting; what is kept goes into ``variables``, of two that differ the first."""
    for setting in settings:
        if not _is_set(setting.value):
            yield Answer(setting.file, setting.name, "", NOT_NEEDED, "it has no value")
            continue
        verdict, text = _judged(setting, variables)
        yield Answer(setting.file, setting.name, _shown(setting), verdict, text)


def _judged(setting: Setting, variables: dict[str, Any]) -> tuple[str, str]:
    if isinstance(setting.value, Encrypted):
        return LOOK, "it is encrypted with Ansible Vault and not read"
    rule = rule_of(setting.name)
    if rule is None:
        return LOOK, "it sounds like a secret, and is not read" if is_secret(setting.name) else _UNKNOWN
    if rule.ours is None:
        return rule.verdict, rule.text
    if is_template(setting.value) and not rule.reads_templates:
        return LOOK, "it is a template, and none is filled in here; write its value"
    try:
        ours = rule.ours(setting.value)
    except ValueError as error:
        return LOOK, str(error)
    if setting.host:
        return LOOK, f"of {setting.host} alone: set {', '.join(ours)} for that host"
    return _taken(ours, rule, variables)


def _taken(ours: Mapping[str, Any], rule: Rule, variables: dict[str, Any]) -> tuple[str, str]:
    if not ours:
        return NOT_NEEDED, rule.text
    for name, value in ours.items():
        before = variables.get(name)
        if isinstance(before, dict) and isinstance(value, Mapping):
            # The parts of one variable may be several of theirs.
            value = {**value, **before}
        elif before is not None and before != value:
            return LOOK, f"{name} is {before!s:.40} by an earlier setting, which counts"
        variables[name] = value
    return KEPT, f"as {', '.join(ours)}"


def rule_of(name: str) -> Rule | None:
    """That of the name itself, or the first whose pattern it fits."""
    for table in TABLES:
        if name in table:
            return table[name]
    for table in TABLES:
        for pattern, rule in table.items():
            if "*" in pattern and fnmatchcase(name, pattern):
                return rule
    return None


def _is_set(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _shown(setting: Setting) -> str:
    """The value without secrets, and no longer than a line has room for."""
    if isinstance(setting.value, Encrypted) or is_secret(setting.name):
        return "(not shown)"
    text = one_line(str(without_secrets(_without_objects(setting.value), setting.name)))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _without_objects(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_objects(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_objects(one) for one in value]
    return "(encrypted)" if isinstance(value, Encrypted) else value
