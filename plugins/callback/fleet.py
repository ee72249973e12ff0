# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One screen for a run over any number of hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
type: stdout
short_description: Show a run over many hosts on one screen
version_added: "1.0.0"
description:
  - Prints counts instead of a line for each host, a reason once for all hosts that share it, and at the end a table
    with a line for all hosts that ended alike. Hosts that failed or cannot be reached come first. At most 40 lines,
    whatever the number of hosts.
  - On a terminal the last line shows which task runs, how many hosts are through, and what comes next. In a file, and
    under AWX, it prints whole lines only.
  - A diff is printed once for all hosts that have it. Errors that are ignored or rescued are counted, and their hosts
    are not shown as failed.
  - With C(-v), prints what P(ansible.builtin.default#callback) prints, and the table instead of its recap. The options
    are those of P(ansible.builtin.default#callback), and apply then only.
requirements:
  - set as C(stdout_callback) in C(ansible.cfg)
extends_documentation_fragment:
  - default_callback
  - result_format_callback
author: The gaudi3.scale authors (@gaudi3-scale)
"""

from typing import Any

from ansible import context
from ansible.plugins.callback.default import CallbackModule as Default
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.diffs import diffs_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.events import Events, warnings_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.live_line import can_be_rewritten
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.screen import Screen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import visible

NAME = "gaudi3.scale.fleet"
_DEBUG = ("debug", "ansible.builtin.debug", "ansible.legacy.debug")


class CallbackModule(Default):
    """See the documentation above."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = NAME

    def __init__(self) -> None:
        super().__init__()
        self._more = self._display.verbosity > 0
        # A controller's callback is made of this one. It keeps what is printed as events, of which none is rewritten.
        is_live = not self._more and self.CALLBACK_NAME == NAME and can_be_rewritten()
        screen = Screen(self._display, is_live=is_live, is_silent=self._more)
        self._events = Events(screen, is_check=bool(context.CLIARGS.get("check")))

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._events.begin(playbook)
        if self._more:
            super().v2_playbook_on_start(playbook)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        if self._more:
            super().v2_playbook_on_play_start(play)
        self._events.play(play)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if self._more:
            super().v2_playbook_on_task_start(task, is_conditional)
        self._events.task(task)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        if self._more:
            super().v2_playbook_on_handler_task_start(task)
        self._events.task(task, is_handler=True)

    def v2_runner_on_ok(self, result: Any) -> None:
        self._events.ok(result, self._said(result))
        self._warn(result)
        if self._more:
            super().v2_runner_on_ok(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._events.skipped(result)
        self._warn(result)
        if self._more:
            super().v2_runner_on_skipped(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._events.failed(result, is_ignored=ignore_errors)
        self._warn(result)
        if self._more:
            super().v2_runner_on_failed(result, ignore_errors)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._events.unreachable(result)
        self._warn(result)
        if self._more:
            super().v2_runner_on_unreachable(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        self._events.item(result, self._said(result, of_item=True))
        self._warn(result)
        if self._more:
            super().v2_runner_item_on_ok(result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        self._events.item(result)
        self._warn(result)
        if self._more:
            super().v2_runner_item_on_failed(result)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        if self._more:
            super().v2_runner_item_on_skipped(result)

    def v2_runner_retry(self, result: Any) -> None:
        self._events.retry(result)
        if self._more:
            super().v2_runner_retry(result)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        if self._more:
            super().v2_runner_on_start(host, task)

    def v2_runner_on_async_poll(self, result: Any) -> None:
        if self._more:
            super().v2_runner_on_async_poll(result)

    def v2_runner_on_async_ok(self, result: Any) -> None:
        if self._more:
            super().v2_runner_on_async_ok(result)

    def v2_runner_on_async_failed(self, result: Any) -> None:
        if self._more:
            super().v2_runner_on_async_failed(result)

    def v2_on_file_diff(self, result: Any) -> None:
        if self._more:
            super().v2_on_file_diff(result)
            return
        self._events.diff(result, "".join(map(self._get_diff, diffs_of(result._result))).rstrip("\n"))

    def v2_playbook_on_include(self, included_file: Any) -> None:
        if self._more:
            super().v2_playbook_on_include(included_file)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        self._events.no_hosts()
        if self._more:
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        self._events.stopped()
        if self._more:
            super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._events.end(stats)

    def _said(self, result: Any, *, of_item: bool = False) -> str:
        """What a debug task shows: that is what it is for."""
        task = result._task
        if self._more or task.action not in _DEBUG or bool(task.loop) != of_item:
            return ""
        self._clean_results(result._result, task.action)
        said = result._result.get("msg")
        return visible(said if isinstance(said, str) else self._dump_results(result._result).strip("\n"))

    def _warn(self, result: Any) -> None:
        """Warnings of modules, once for all hosts that have them; deprecations as Ansible shows them."""
        warnings = [] if self._more else warnings_of(result)
        if warnings:
            self._events.warned(result, warnings)
            result._result.pop("warnings", None)
            self._handle_warnings(result._result)
