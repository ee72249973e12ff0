# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Files of another tool on the controller, each as settings or as an inventory. Only reads, and runs nothing."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration import script_text
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Setting
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.inventory_text import (
    ALL,
    Inventory,
    is_yaml_inventory,
    read_groups,
    read_ini,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.settings import settings_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.yaml_data import LARGEST, VAULT, read_yaml

OPTION = "gaudi_migration_sources"
MOST_FILES = 500
PAGES = "vm.nr_hugepages"
_YAML = (".yml", ".yaml")
_SCRIPTS = (".cfg", ".env", ".sh", ".log", ".txt")
_SECTION = re.compile(r"^\[[\w.-]+(?::\w+)?\]\s*$", re.MULTILINE)
# Of hundreds of lists of packages in Omnia's input/config those of the cards are of interest.
_LISTS, _OURS = "config", ("intelgaudi.json", "gaudi.json")
# How a host is reached: as a file of groups or of hosts has it, it belongs to the inventory.
_REACHED = "ansible_"


@dataclass
class Sources:
    """All that was read. ``unread``: files, each with a clause that says why nobody looked at it."""

    settings: list[Setting] = field(default_factory=list)
    inventories: list[Inventory] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)


def read_sources(paths: list[str]) -> Sources:
    """Everything at the paths; raises GaudiError for a path that is not there, and for a file that cannot be read."""
    found = Sources()
    if not paths:
        raise GaudiError(f"{OPTION} is empty; name the other tool's files or their directory.")
    for path in paths:
        start = _place(path)
        if start.is_dir():
            files = _files(start)
            lists = [file for file in files if _is_list(file.relative_to(start))]
            for file in (file for file in files if file not in lists):
                _add(found, file, str(file.relative_to(start)))
            if lists:
                found.settings.append(Setting(_LISTS, "lists of packages", f"{len(lists)} files"))
        else:
            _add(found, start, start.name)
    return found


def _place(path: str) -> Path:
    try:
        found = Path(path).expanduser()
        there = found.is_dir() or found.is_file()
    except (OSError, RuntimeError, ValueError):
        # Too long, or of a home that nobody has.
        there = False
    if not there:
        raise GaudiError(f"{OPTION}: there is no {path!s:.200}; correct the path.")
    return found


def _files(folder: Path) -> list[Path]:
    """Those below, in the order of their names, without what is hidden."""
    found: list[Path] = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and path.is_file():
            found.append(path)
        if len(found) > MOST_FILES:
            wanted = "name the directory of what the site has set, such as input/ of Omnia or config/ of DeepOps"
            raise GaudiError(f"{OPTION}: {folder} has more than {MOST_FILES} files; {wanted}.")
    return found


def _is_list(path: Path) -> bool:
    return path.suffix == ".json" and _LISTS in path.parts[:-1] and path.name not in _OURS


def _add(found: Sources, path: Path, name: str) -> None:
    try:
        if path.stat().st_size > LARGEST:
            found.unread[name] = f"it is larger than {LARGEST >> 20} MiB"
            return
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        found.unread[name] = "it is not text"
        return
    except OSError as error:
        raise GaudiError(f"{path} cannot be read ({error.strerror}); give yourself the right to.") from error
    if text.lstrip().startswith(VAULT):
        found.unread[name] = "it is encrypted with Ansible Vault; keep it, and name its variables as ours"
        return
    try:
        _add_text(found, path, name, text)
    except ValueError as error:
        raise GaudiError(f"{path}: {error}; correct it, or leave it out of {OPTION}.") from error


def _add_text(found: Sources, path: Path, name: str, text: str) -> None:
    if path.suffix in _YAML or (path.suffix == "" and path.parent.name in ("group_vars", "host_vars")):
        _add_data(found, path, name, read_yaml(text))
    elif path.suffix == ".json":
        _add_data(found, path, name, parse_json(text))
    elif path.suffix == ".csv":
        found.addresses.update(_mapping_file(text))
    elif path.suffix in _SCRIPTS and not _SECTION.search(text):
        found.settings += script_text.settings_in(text, name)
    elif path.suffix in ("", ".ini", *_SCRIPTS) and _SECTION.search(text):
        found.inventories.append(read_ini(text))
    else:
        found.unread[name] = "it is not a kind of file that is known here"


def _add_data(found: Sources, path: Path, name: str, content: Any) -> None:
    if is_yaml_inventory(content):
        found.inventories.append(read_groups(content))
    elif isinstance(content, Mapping):
        reached = {key: value for key, value in content.items() if key.startswith(_REACHED)}
        group, host = _named_by(path)
        if reached and host:
            found.inventories.append(Inventory(host_variables={host: reached}))
        elif reached:
            found.inventories.append(Inventory(variables={group: reached}))
        others = {key: value for key, value in content.items() if key not in reached}
        found.settings += settings_of(others, name, host)
    elif isinstance(content, list) and all(isinstance(one, Mapping) and "hosts" in one for one in content) and content:
        for play in content:
            found.settings += _of_a_play(play, name)
    elif content is not None:
        found.unread[name] = "it is neither settings, nor an inventory, nor a playbook"


def _named_by(path: Path) -> tuple[str, str]:
    """The group and the host that a file of variables is for: group_vars/NAME.yml, group_vars/NAME/any.yml."""
    for place, name in ((path.parent, path.stem), (path.parent.parent, path.parent.name)):
        if place.name == "host_vars":
            return "", name
        if place.name == "group_vars":
            return name, ""
    return ALL, ""


def _of_a_play(play: Mapping[str, Any], name: str) -> Iterator[Setting]:
    """The variables of a recipe, and that there are tasks: nobody plays them."""
    yield Setting(name, "hosts", play["hosts"])
    if "become" in play:
        yield Setting(name, "become", play["become"])
    variables = play.get("vars")
    yield from settings_of(variables, name) if isinstance(variables, Mapping) else ()
    tasks = play.get("tasks")
    if isinstance(tasks, list):
        yield Setting(name, "tasks", f"{len(tasks)} tasks")
        yield from (Setting(name, f"tasks.{PAGES}", value) for value in _pages_in(tasks))


def _pages_in(tasks: list[Any]) -> Iterator[Any]:
    """The number of huge pages that a task writes into sysctl.conf, where it would stand against ours."""
    for task in tasks:
        for module in ("sysctl", "ansible.posix.sysctl"):
            given = task.get(module) if isinstance(task, Mapping) else None
            if isinstance(given, Mapping) and given.get("name") == PAGES:
                yield given.get("value")


def _mapping_file(text: str) -> dict[str, str]:
    """Omnia's pxe_mapping_file.csv: the address of each host by its name."""
    rows = csv.DictReader(text.splitlines())
    names = {str(column).strip().upper(): column for column in rows.fieldnames or ()}
    host, address = names.get("HOSTNAME"), names.get("ADMIN_IP") or names.get("IP")
    if not host or not address:
        raise ValueError("it has no columns HOSTNAME and ADMIN_IP")
    pairs = [((row[host] or "").strip(), (row[address] or "").strip()) for row in rows]
    return {name: place for name, place in pairs if name}
