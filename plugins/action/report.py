# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print a table on the controller's screen, keep it as a page and as JSON, and tell the outcome to the next job."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible has it
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import lines_of, one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._awx_job import lost_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._play_outcome import play_outcome
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page_head import (
    SEPARATOR,
    cluster_name,
    page_head,
    releases_of,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.pdf import pdf_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import text_table
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document, Kept, file_place, keep
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import earlier_failure
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import Case, exit_code, junit_xml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.unreadable import made_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._site_target import site_target
from ansible_collections.gaudi3.scale.plugins.plugin_utils._variables_file import variables_file

ARGUMENTS: dict[str, dict[str, Any]] = {
    "kind": {"type": "str", "choices": sorted(KINDS)},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "given": {"type": "dict", "default": {}},
    "title": {"type": "str"},
    "rows": {"type": "list", "elements": "dict"},
    "columns": {"type": "list", "elements": "str"},
    "notes": {"type": "list", "elements": "str", "default": []},
    "charts": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "title": {"type": "str", "required": True},
            "x_label": {"type": "str", "required": True},
            "y_label": {"type": "str", "required": True},
            "points": {"type": "list", "elements": "list", "default": []},
            "series": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "label": {"type": "str", "required": True},
                    "points": {"type": "list", "elements": "list", "required": True},
                },
            },
            "stacked": {"type": "bool", "default": True},
            "dots": {"type": "bool", "default": False},
            "from_zero": {"type": "bool", "default": False},
            "y_from_zero": {"type": "bool", "default": False},
            "marks": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "axis": {"type": "str", "choices": ["x", "y"], "required": True},
                    "value": {"type": "float", "required": True},
                    "label": {"type": "str", "default": ""},
                    "tone": {"type": "str", "choices": ["plain", "good", "bad"], "default": "plain"},
                },
            },
        },
    },
    "intervals": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "title": {"type": "str", "required": True},
            "x_label": {"type": "str", "required": True},
            "bars": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "label": {"type": "str", "required": True},
                    "estimate": {"type": "float"},
                    "low": {"type": "float"},
                    "high": {"type": "float"},
                    "tone": {"type": "str", "choices": ["plain", "good", "bad"], "default": "plain"},
                    "note": {"type": "str", "default": ""},
                },
            },
        },
    },
    "bars": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "title": {"type": "str", "required": True},
            "x_label": {"type": "str", "required": True},
            "parts": {"type": "list", "elements": "str", "required": True},
            "amounts": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "label": {"type": "str", "required": True},
                    "parts": {"type": "list", "elements": "float", "required": True},
                    "text": {"type": "str", "required": True},
                },
            },
        },
    },
    "heat_maps": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "title": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "cells": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "row": {"type": "int", "required": True},
                    "column": {"type": "int", "required": True},
                    "value": {"type": "float"},
                    "bad": {"type": "bool", "default": False},
                    "note": {"type": "str", "default": ""},
                },
            },
        },
    },
    "sections": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "title": {"type": "str", "required": True},
            "rows": {"type": "list", "elements": "dict", "required": True},
            "columns": {"type": "list", "elements": "str", "required": True},
            "notes": {"type": "list", "elements": "str", "default": []},
            "on_screen": {"type": "bool", "default": True},
        },
    },
    "data": {"type": "raw"},
    "name": {"type": "str"},
    "pdf": {"type": "bool", "default": False},
    "target": {"type": "str"},
    "figures": {"type": "str", "default": ""},
    "files": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "content": {"type": "raw", "default": ""},
            "heading": {"type": "str", "default": ""},
            "variables": {"type": "dict"},
            "label": {"type": "str", "required": True},
            "mode": {"type": "str", "default": "0644"},
            "backup": {"type": "bool", "default": False},
            "path": {"type": "str", "default": ""},
            "option": {"type": "str", "default": "path"},
        },
    },
    "outcome": {
        "type": "dict",
        "options": {
            "variable": {"type": "str", "required": True},
            "nodes": {"type": "dict", "default": {}},
            "good": {"type": "list", "elements": "str", "default": ["ok"]},
            "ok": {"type": "bool"},
            "unclear": {"type": "bool", "default": False},
            "numbers": {"type": "dict", "default": {}},
            "words": {"type": "dict", "default": {}},
        },
    },
}

# What the JSON has; its rows have all their values, also those that are in no column.
KEPT = ("title", "rows", "notes", "charts", "intervals", "bars", "heat_maps", "sections", "data")
# A name below the target, and no way out of it.
NAME = re.compile(r"[^./\x00-\x1f][^/\x00-\x1f]*")


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.report``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Print, write, and return the table."""
        super().run(tmp, task_vars)
        options, made = self._options(task_vars)
        _require_names(options)
        reported = (options, *(section for section in options["sections"] if section["on_screen"]))
        text = "\n".join(_lines(part) for part in reported)
        Display().display(f"\n{text}\n" if options["name"] else f"\n{text}")
        silent = options["name"] is None or self._task.check_mode
        kept = [] if silent else _keep(options, made.cases, _head(options, task_vars))
        error = " ".join(one.error for one in kept if one.error)
        page = next((one.addresses[0] for one in kept if one.addresses), "")
        for warning in filter(None, [error, lost_report(task_vars, options["target"] or "", page)]):
            # As a line of the play: Ansible shows warnings of a task after all that it prints.
            Display().display(f"[WARNING]: {one_line(warning)}", color=C.COLOR_WARN)
        ways = _ways(options, kept)
        for way in ways:
            Display().display(one_line(way))
        result = {
            "changed": False,
            "text": text,
            "files": [address for one in kept for address in one.addresses],
            "report": page,
            "report_error": error,
            "way": ways[-1] if ways else "",
            "reasons": made.reasons or {},
            "refusal": made.refusal,
        }
        if options["outcome"] is None:
            return result
        reported_next = _outcome(options["outcome"], task_vars, result, self._task.check_mode)
        # What set_stats returns: AWX makes variables of it for the jobs that follow in a workflow.
        stats = {"data": {options["outcome"]["variable"]: reported_next}, "per_host": False, "aggregate": False}
        return {**result, "outcome": reported_next, "ansible_stats": stats}

    def _options(self, task_vars: Mapping[str, Any]) -> tuple[dict[str, Any], Made]:
        """Those of the task, which win, and those that its kind makes of what its hosts have registered."""
        asked = self.validate_argument_spec(argument_spec=ARGUMENTS, required_one_of=[("kind", "title")])[1]
        made = Made({}, {})
        if asked["kind"]:
            made = _made(asked, task_vars["hostvars"], self._task.check_mode)
            written = self._task.args
            outcome = {"outcome": {**made.outcome, **written["outcome"]}} if "outcome" in written else {}
            self._task.args = {**_plain(made.options), **written, **_plain(outcome)}
        if "target" not in self._task.args:
            self._task.args["target"] = site_target(task_vars, self._templar, self._loader)
        needed = {name: {**ARGUMENTS[name], "required": True} for name in ("title", "rows", "columns")}
        return self.validate_argument_spec(argument_spec={**ARGUMENTS, **needed})[1], made


def _made(asked: Mapping[str, Any], hostvars: Any, check_mode: bool) -> Made:
    kind = KINDS[asked["kind"]]
    unknown = [host for host in asked["hosts"] if host not in hostvars]
    if unknown:
        raise AnsibleActionFail(
            f"hosts names {unknown[0]}, which is not in the inventory; correct the name, or add the host."
        )
    names = ("inventory_hostname", *kind.variables)
    hosts = {
        host: {name: _plain(hostvars[host][name]) for name in names if name in hostvars[host]}
        for host in asked["hosts"]
    }
    try:
        return made_of(kind, Asked(hosts, asked["given"], check_mode, _failures(asked["hosts"], hostvars)))
    except GaudiError as error:
        raise AnsibleActionFail(str(error)) from error


def _failures(hosts: Iterable[str], hostvars: Any) -> dict[str, str]:
    """Why a host has not what others have, by what was registered on it before; as it is, no template is looked at."""
    found = {host: earlier_failure(hostvars.raw_get(host)) for host in hosts}
    return {host: why for host, why in found.items() if why}


def _plain(value: Any) -> Any:
    """With containers of Python's own: those of a variable may be templates until they are looked at."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _require_names(options: Mapping[str, Any]) -> None:
    for name in [options["name"] or "report", *(file["name"] for file in options["files"])]:
        if not NAME.fullmatch(name):
            raise AnsibleActionFail(f"name {name}: invalid report name; use one without a slash.")


def _lines(part: dict[str, Any]) -> str:
    """A table under its heading with the notes below it, and an empty line."""
    table = text_table(part["rows"], part["columns"])
    return "\n".join([one_line(part["title"]), table, *(f"  {lines_of(note)}" for note in part["notes"]), ""])


def _head(options: Mapping[str, Any], task_vars: Mapping[str, Any]) -> str:
    """Which cluster, release and nodes a page is of, and when it was made."""
    hosts, outcome = options["hosts"], options["outcome"] or {"nodes": {}, "good": []}
    states = {host: str(state) for host, state in (outcome["nodes"] or dict.fromkeys(hosts, "")).items()}
    known = task_vars["hostvars"]
    releases = releases_of(known[host] for host in hosts if host in known)
    head = page_head(cluster_name(task_vars), releases, states, outcome["good"])
    return SEPARATOR.join(filter(None, [head, time.strftime("%Y-%m-%d %H:%M:%S %Z")]))


def _keep(options: Mapping[str, Any], cases: Sequence[Case] | None, head: str) -> list[Kept]:
    """Write the page, the JSON and what lies beside them, then each file that the operator wants elsewhere."""
    name = options["name"]
    kept = {key: options[key] for key in KEPT if options[key] is not None}
    code = {} if cases is None else {"exit_code": exit_code(cases)}
    data = json.dumps({**code, **kept}, indent=2) + "\n"
    page = Document(f"{name}.html", _page(options, head))
    printed = _printed(name, page.content) if options["pdf"] else []
    beside = [_document(file, file["name"]) for file in _files(options, elsewhere=False)]
    tests = [] if cases is None else [Document(f"{name}.xml", junit_xml(options["title"], cases))]
    together = keep(options["target"], [page, Document(f"{name}.json", data), *beside, *printed, *tests])
    return [together, *map(_keep_elsewhere, _files(options, elsewhere=True))]


def _printed(name: str, page: str) -> list[Document]:
    """The page as PDF. Documents are text, and these bytes go through it as they are."""
    return [Document(f"{name}.pdf", pdf_of(page).decode("utf-8", "surrogateescape"))]


def _files(options: Mapping[str, Any], elsewhere: bool) -> list[Mapping[str, Any]]:
    return [file for file in options["files"] if bool(file["path"]) == elsewhere]


def _keep_elsewhere(file: Mapping[str, Any]) -> Kept:
    where, name = file_place(file["path"], file["name"])
    return keep(where, [_document(file, name)], file["option"])


def _document(file: Mapping[str, Any], name: str) -> Document:
    content = file["content"]
    if file["variables"] is not None:
        content = variables_file(file["heading"], file["variables"])
    elif not isinstance(content, str):
        content = json.dumps(content, indent=2) + "\n"
    return Document(name, content, int(file["mode"], 8), file["backup"])


def _page(options: Mapping[str, Any], head: str) -> str:
    return report_page(
        options["title"],
        subtitle=head,
        rows=options["rows"],
        columns=options["columns"],
        notes=options["notes"],
        charts=options["charts"],
        intervals=options["intervals"],
        bars=options["bars"],
        heat_maps=options["heat_maps"],
        sections=options["sections"],
        figures=options["figures"],
    )


def _ways(options: Mapping[str, Any], kept: Sequence[Kept]) -> list[str]:
    """A line for each file that a person wants; the page is the last."""
    if options["name"] is None:
        return []
    if not kept:
        return ["Report: not saved in check mode"]
    together, *apart = kept
    page, beside = (together.addresses or ["not kept"])[0], together.addresses[2:]
    elsewhere = [one.addresses[0] if one.addresses else "not kept" for one in apart]
    # What comes after them are results for programs.
    mine = _files(options, elsewhere=False)
    here: Iterable[tuple[Any, str]] = zip_longest(mine, beside[: len(mine)], fillvalue="not kept")
    files = [*here, *zip(_files(options, elsewhere=True), elsewhere)]
    return [*(f"{file['label']}: {address}" for file, address in files), f"Report: {page}"]


def _outcome(
    reported: Mapping[str, Any], variables: Mapping[str, Any], result: Mapping[str, Any], check_mode: bool
) -> dict[str, Any]:
    return play_outcome(
        reported["nodes"],
        good=reported["good"],
        inventory=variables["groups"]["all"],
        ok=reported["ok"],
        unclear=reported["unclear"],
        numbers=reported["numbers"],
        words={**reported["words"], "report": result["report"], "report_error": result["report_error"]},
        check_mode=check_mode,
    )
