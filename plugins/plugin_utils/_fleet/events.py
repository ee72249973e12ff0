# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What Ansible tells a callback, as the screen takes it: the one place that reads Ansible's own objects."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import REACHING, page_about
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.order import (
    Order,
    is_cleaning_up,
    is_rescued,
    name_of,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.reasons import alike, reason_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.screen import Screen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.tally import (
    FAILED,
    UNREACHABLE,
    Tally,
    Trouble,
    noted,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import plain

# Strategies in which a host does not wait for the others.
_NOT_IN_STEP = ("free", "pinned")


class Events:
    """One run of ansible-playbook."""

    def __init__(self, screen: Screen, *, is_check: bool) -> None:
        self._screen = screen
        self._fleet = screen.fleet
        self._words = " in check mode" if is_check else ""
        self._plays: list[Any] = []
        self._order: Order | None = None
        self._next_play = ""
        self._in_step = True
        self._latest: Any = None

    def begin(self, playbook: Any) -> None:
        """A playbook begins."""
        self._plays = list(playbook.get_plays())

    def play(self, play: Any) -> None:
        """A play begins, or its next batch."""
        inventory = play.get_variable_manager()._inventory
        batch = [host.get_name() for host in inventory.get_hosts(play.hosts)]
        # Those of earlier and later batches, too.
        everywhere = [host.get_name() for host in inventory.get_hosts(play.hosts, ignore_restrictions=True)]
        self._fleet.play(batch, everywhere)
        self._screen.play(plain(play.get_name()), batch, len(everywhere), self._words)
        self._in_step = not any(word in play.strategy for word in _NOT_IN_STEP)
        self._next_play = "" if play.serial else self._after(play)
        self._order = Order(play)

    def task(self, task: Any, *, is_handler: bool = False) -> None:
        """A task begins; what includes a file has no line, since what is in the file has."""
        name = name_of(task)
        following = "" if is_handler else self._following(task, name)
        if _is_include(task):
            return
        self._latest = task
        hosts = len(task.notified_hosts) if is_handler else self._fleet.hosts()
        tally = Tally(
            f"handler: {name}" if is_handler else name,
            1 if task.run_once is True else hosts,
            following,
            # A template of it, too: until 2.20 Ansible looks into none. A host that does another task was not stopped.
            is_for_all=bool(task.any_errors_fatal),
        )
        self._screen.task(task._uuid, tally, is_alone=self._in_step)

    def ok(self, result: Any, said: str = "") -> None:
        """A host is through, and a debug task has said this."""
        self._count(result, "changed" if result.is_changed() else "ok", said)

    def skipped(self, result: Any) -> None:
        """A host had nothing to do."""
        self._count(result, "skipped")

    def item(self, result: Any, said: str = "") -> None:
        """One item of a loop is done."""
        if not _is_include(result._task):
            tally = self._tally(result)
            tally.items += 1
            self._note(tally, result, said)
            self._screen.draw(tally)

    def retry(self, result: Any) -> None:
        """A task will be tried again."""
        tally = self._tally(result)
        tally.retries += 1
        self._screen.draw(tally)

    def warned(self, result: Any, texts: list[str]) -> None:
        """A module warns."""
        noted(self._tally(result).warnings, texts, _host(result))

    def diff(self, result: Any, text: str) -> None:
        """A file would change, or has changed, like this."""
        noted(self._tally(result).diffs, filter(None, [text]), _host(result))

    def failed(self, result: Any, *, is_ignored: bool) -> None:
        """A task failed on a host."""
        word = "ignored" if is_ignored else "rescued" if is_rescued(result._task) else ""
        self._bad(result, FAILED, word)

    def unreachable(self, result: Any) -> None:
        """A host does not answer."""
        self._bad(result, UNREACHABLE, "ignored" if result._task.ignore_unreachable else "")

    def no_hosts(self) -> None:
        """A play that no host is in."""
        self._screen.say("    no host matches")

    def stopped(self) -> None:
        """The play ends for all of its hosts."""
        if self._latest is not None:
            self._fleet.stop(self._latest._uuid, name_of(self._latest))

    def end(self, stats: Any) -> None:
        """The run is over."""
        counts = {host: stats.summarize(host) for host in sorted(stats.processed)}
        self._screen.end(counts, self._words)

    def _count(self, result: Any, what: str, said: str = "") -> None:
        if _is_include(result._task):
            return
        tally = self._tally(result)
        tally.count(what)
        self._note(tally, result, said)
        self._screen.draw(tally)

    def _note(self, tally: Tally, result: Any, said: str) -> None:
        if said:
            noted(tally.messages, [said], _host(result))

    def _bad(self, result: Any, state: str, word: str) -> None:
        tally, host = self._tally(result), _host(result)
        trouble = _trouble(result, state)
        self._stop(tally, result, is_ignored=bool(word) and state == FAILED)
        if word:
            tally.count(word)
            noted(tally.messages, [f"{word}: {trouble.alike}"], host)
            self._screen.draw(tally)
            return
        self._fleet.trouble(result._host.get_name(), trouble)
        self._screen.trouble(tally, host, trouble)

    def _stop(self, tally: Tally, result: Any, *, is_ignored: bool) -> None:
        """Ansible ends the play for all hosts, also for one that it need not have reached; it tells nobody."""
        is_for_all = (tally.is_for_all or result._task.run_once) and not is_ignored
        if is_for_all and tally.following and self._in_step:
            self._fleet.stop(result._task._uuid, name_of(result._task))

    def _tally(self, result: Any) -> Tally:
        """Of the task of any result; what cleans up runs on hosts that were stopped, too."""
        task = result._task
        if self._fleet.has_stopped and not is_cleaning_up(task):
            self._fleet.goes_on(result._host.get_name(), task._uuid)
        return self._screen.tally(task)

    def _following(self, task: Any, name: str) -> str:
        following = self._order.after(task) if self._order else ""
        if not following:
            return f"play {self._next_play}" if self._next_play else ""
        role, colon, _rest = name.partition(" : ")
        return following.removeprefix(role + colon) if colon else following

    def _after(self, play: Any) -> str:
        places = [place for place, one in enumerate(self._plays) if one._uuid == play._uuid]
        after = self._plays[places[0] + 1 :] if places else []
        return plain(after[0].get_name()) if after else ""


def warnings_of(result: Any) -> list[str]:
    """A task's warnings: texts, or what ansible-core 2.19 and newer make of them (``ansible._messages``)."""
    found = getattr(result, "warnings", None)
    if found is None:
        found = result._result.get("warnings")
    return [] if not found else [plain(one if isinstance(one, str) else one.event.msg) for one in found]


def _is_include(task: Any) -> bool:
    return hasattr(task, "statically_loaded")


def _host(result: Any) -> str:
    return plain(result._host.get_name())


def _trouble(result: Any, state: str) -> Trouble:
    host, task = result._host, result._task
    reason = reason_of(result._result)
    if task.delegate_to and task.delegate_to != host.get_name():
        reason = f"on {plain(task.delegate_to)}: {reason}"
    names = [host.get_name(), host.vars.get("ansible_host")]
    page = REACHING if state == UNREACHABLE else page_about(task._role.get_name() if task._role else "", task.action)
    return Trouble(state, reason, alike(reason, [name for name in names if isinstance(name, str)]), page)
