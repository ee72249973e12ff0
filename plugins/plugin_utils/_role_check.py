# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""How a role begins: it refuses names that it does not know, and values that its specification does not allow.

As a task of its own this costs the controller a process a host and role, which is most of a run with nothing to do.
So the first module of a role does it, by ``RoleEntry``; the playbooks of ``site.yml`` leave Ansible's own task out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.plugin_utils._foreign_facts import foreign_facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._no_answer import answered
from ansible_collections.gaudi3.scale.plugins.plugin_utils._once_a_run import once_a_run
from ansible_collections.gaudi3.scale.plugins.plugin_utils._other_action import other_action
from ansible_collections.gaudi3.scale.plugins.plugin_utils._plain_arguments import (
    NOT_PLAIN,
    OMITTED,
    is_plain,
    plain_value,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import (
    OF_THE_SITE,
    SpecifiedRole,
    refusal,
    shared_refusal,
    specified,
    split_refusal,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_words import in_role_words
from ansible_collections.gaudi3.scale.plugins.plugin_utils._shared_options import values_refusal

COLLECTION = "gaudi3.scale"
ROLES = Path(__file__).parents[2] / "roles"
SPECIFICATION = Path("meta", "argument_specs.yml")
VARIABLES = Path("vars", "main.yml")


def role_refusal(action: ActionBase, variables: Mapping[str, Any], roles: Iterable[tuple[Path, str]]) -> dict[str, Any]:
    """What is wrong with the names of options of ``roles``, and with the values of the role whose task this is.

    As a failed result; empty where nothing is. ``roles`` are as in ``names_refusal``.
    """
    host = str(variables["inventory_hostname"])
    unknown = (
        foreign_facts(host, variables.get("ansible_facts") or {})
        or names_refusal(action, roles, variables)
        or shared_names_refusal(action, variables)
        or split_refusal(variables)
        or values_refusal(host, variables)
    )
    if unknown:
        return {"failed": True, "msg": unknown}
    role = action._task._role
    if role is None:
        return {}
    entry = _entries(action, _folder(role)[0]).get(role._from_files.get("tasks") or "main") or {}
    asked = {
        name: option
        for name, option in (entry.get("options") or {}).items()
        if not _as_shipped(role._default_vars, name, variables)
    }
    return _values_refusal(action, asked, role, variables) if asked else {}


def names_refusal(action: ActionBase, roles: Iterable[tuple[Path, str]], variables: Mapping[str, Any]) -> str:
    """A sentence for each variable that begins as an option of one of ``roles`` and is none.

    Each of ``roles`` is its folder and the name of its collection, empty where it has none.
    """
    host = str(variables["inventory_hostname"])
    said = []
    for folder, collection in roles:
        if not any(isinstance(name, str) and name.startswith(f"{folder.name}_") for name in variables):
            continue
        longer = [one for one in folder.parent.glob(f"{folder.name}_*") if (one / SPECIFICATION).is_file()]
        others = [_specified(action, one, collection) for one in longer]
        said.append(refusal(_specified(action, folder, collection), host, variables, others))
    return " ".join(filter(None, said))


def shared_names_refusal(action: ActionBase, variables: Mapping[str, Any]) -> str:
    """A sentence for each variable that begins as the collection's options do, and is no option of any of its roles."""
    given = variables.get(OF_THE_SITE)
    own = [] if given is None else action._templar.template(given)
    host = str(variables["inventory_hostname"])
    if not isinstance(own, list) or not all(isinstance(name, str) for name in own):
        return f"{OF_THE_SITE} of {host} is {own!r:.80}; give a list of names of variables."
    roles = [folder.name for folder, _collection in roles_here()]
    return shared_refusal(host, variables, roles, own)


def roles_here() -> list[tuple[Path, str]]:
    """All roles of this collection, as ``names_refusal`` takes them."""
    return [(path.parents[1], COLLECTION) for path in sorted(ROLES.glob(f"*/{SPECIFICATION}"))]


def role_of(action: ActionBase) -> list[tuple[Path, str]]:
    """The role whose task this is, as ``names_refusal`` takes it; none outside of a role."""
    return [_folder(action._task._role)] if action._task._role else []


def in_words_of(roles: Iterable[SpecifiedRole], message: str) -> str:
    """``message`` of a module with the options of the role whose task it is; as it is outside of one."""
    for role in roles:
        return in_role_words(message, role.prefix, role.options, role.shared)
    return message


def specified_here(action: ActionBase) -> list[SpecifiedRole]:
    """The role whose task this is, with its options; none outside of a role."""
    return [
        _specified(action, folder, collection, _read(action, folder / VARIABLES))
        for folder, collection in role_of(action)
    ]


def _folder(role: Any) -> tuple[Path, str]:
    return Path(role._role_path).absolute(), role._role_collection or ""


def _entries(action: ActionBase, folder: Path) -> Mapping[str, Any]:
    entries: Mapping[str, Any] = _read(action, folder / SPECIFICATION)["argument_specs"]
    return entries


def _read(action: ActionBase, path: Path) -> Mapping[str, Any]:
    def read() -> Any:
        return action._loader.load_from_file(str(path), unsafe=True) if path.is_file() else {}

    # To read YAML for each host would cost more than all that a role does on the controller.
    found: Mapping[str, Any] = once_a_run(Path(constants.DEFAULT_LOCAL_TMP), str(path), read) or {}
    return found


def _specified(
    action: ActionBase, folder: Path, collection: str, variables: Mapping[str, Any] | None = None
) -> SpecifiedRole:
    """``variables``: its vars/main.yml, where names of shared options are asked for; each role begins without."""
    full_name = f"{collection}.{folder.name}".lstrip(".")
    return specified(folder.name, full_name, _entries(action, folder), variables)


def _as_shipped(defaults: Mapping[str, Any], name: str, variables: Mapping[str, Any]) -> bool:
    """Whether the option has the role's own default, and that is no template.

    A test holds the defaults against the specification, so only what a site has set costs each run anything.
    """
    if name not in defaults or variables.get(name) != defaults[name]:
        return False
    return is_plain(defaults[name])


def _values_refusal(
    action: ActionBase, options: Mapping[str, Any], role: Any, variables: Mapping[str, Any]
) -> dict[str, Any]:
    """By Ansible's own action, as its own task before a role would say it."""
    given = {"argument_spec": options, "provided_arguments": role._role_params}
    said = other_action(action, "ansible.builtin.validate_argument_spec", given, _known(options, variables))
    return {"failed": True, "msg": said["msg"]} if said.get("failed") else {}


def _known(options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables, with the values of options where those can be had without a template."""
    try:
        from ansible.template import is_trusted_as_template
    except ImportError:
        # Older than ansible-core 2.19, where a text does not say whether it is a template.
        return dict(variables)
    found = {
        name: plain_value(variables[name], variables, is_trusted_as_template) for name in options if name in variables
    }
    return {**variables, **{name: one for name, one in found.items() if one is not NOT_PLAIN and one is not OMITTED}}


def system_facts(action: ActionBase, variables: dict[str, Any]) -> dict[str, Any]:
    """What the node's operating system is, asked of it where that is not known yet; as a result to be added to."""
    if "distribution" in variables.get("ansible_facts", {}):
        return {}
    said = answered(
        lambda: action._execute_module("ansible.legacy.setup", {"gather_subset": ["min"]}, task_vars=variables),
        str(variables["inventory_hostname"]),
    )
    return said if said.get("failed") or said.get("unreachable") else {"ansible_facts": said["ansible_facts"]}
