# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print a table on the controller's screen, and keep it as a page and as JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils.node.rendered_files import WantedFile, pending, write
from ansible_collections.gaudi3.scale.plugins.module_utils.report.page import report_page
from ansible_collections.gaudi3.scale.plugins.module_utils.report.text_table import text_table

ARGUMENTS = {
    "title": {"type": "str", "required": True},
    "rows": {"type": "list", "elements": "dict", "required": True},
    "columns": {"type": "list", "elements": "str", "required": True},
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
    "path": {"type": "path"},
}

# What the JSON has; its rows have all their values, also those that are in no column.
KEPT = ("title", "rows", "notes", "charts", "intervals", "sections", "data")


class ActionModule(ActionBase):
    """See the documentation of the module ``gaudi3.scale.report``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Print, write, and return the table."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        told = (options, *(section for section in options["sections"] if section["on_screen"]))
        text = "\n".join(_lines(part) for part in told)
        Display().display(f"\n{text}")
        files = [] if options["path"] is None or self._task.check_mode else _keep(options)
        return {"changed": False, "text": text, "files": files}


def _lines(part: dict[str, Any]) -> str:
    """A table under its heading with the notes below it, and an empty line."""
    table = text_table(part["rows"], part["columns"])
    return "\n".join([part["title"], table, *(f"  {note}" for note in part["notes"]), ""])


def _keep(options: dict[str, Any]) -> list[str]:
    """Write the page and the JSON beside each other; returns their paths."""
    base = Path(options["path"]).expanduser().absolute()
    page = report_page(
        options["title"],
        subtitle=time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        rows=options["rows"],
        columns=options["columns"],
        notes=options["notes"],
        charts=options["charts"],
        intervals=options["intervals"],
        sections=options["sections"],
    )
    data = json.dumps({name: options[name] for name in KEPT if options[name] is not None}, indent=2) + "\n"
    wanted = [WantedFile(f"{base}.html", page), WantedFile(f"{base}.json", data)]
    for change in pending(wanted):
        write(change)
    return [file.path for file in wanted]
