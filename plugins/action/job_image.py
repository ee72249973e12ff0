# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring a job's container image to all of its nodes."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.jobs import JOB_ARGUMENTS, check_container
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.job_image import bring_image
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import in_words_of, specified_here
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "image": {"type": "str", "required": True},
    "user": {"type": "str", "default": "gaudi"},
    "plain_http_hosts": {"type": "list", "elements": "str", "default": []},
    "job": {"type": "dict", "default": {}, "options": JOB_ARGUMENTS},
    "timeout": {"type": "int", "default": 3600},
}
# Seconds for the connection and what skopeo is asked, beside fetching, unpacking and a wait for another one.
BESIDE_S = 600


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.job_image``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look it up once, then have each node fetch it; fails where one cannot."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        roles = specified_here(self)
        given = {name: options[name] for name in ("user", "plain_http_hosts", "timeout")}
        try:
            check_container(options["image"], user=options["user"], **options["job"])
            ask = questions(self, options["hosts"], task_vars, 3 * options["timeout"] + BESIDE_S)
            image, answers = bring_image(options["image"], options["hosts"], given, ask, show)
        except AnsibleError:
            raise
        except GaudiError as error:
            return {"failed": True, "msg": in_words_of(roles, str(error))}
        except Exception as error:
            return failed(error)
        changed = any(bool(answer.get("changed")) for answer in answers.values())
        return {"changed": changed, **literals({"image": image})}
