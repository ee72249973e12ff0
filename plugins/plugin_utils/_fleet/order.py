# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which task of a play comes after another one, as far as Ansible knows it before it is there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import plain

_META = ("meta", "ansible.builtin.meta")
_TEMPLATE = re.compile(r"\{\{.*?\}\}")


class Order:
    """The tasks of a play that its tags select. What a rescue or a handler runs is not foreseen."""

    def __init__(self, play: Any) -> None:
        self._selected = [task for block in play.compile() for task in _tasks(block) if _is_played(task, play)]
        self._places = {task._uuid: place for place, task in enumerate(self._selected)}
        self._next = 0

    def after(self, task: Any) -> str:
        """The name of the task after this one, or nothing. A task of an included file is in no list of the play."""
        place = self._places.get(task._uuid)
        if place is None:
            beside = _after_in_block(task)
            if beside is not None:
                return name_of(beside)
        else:
            self._next = place + 1
        return name_of(self._selected[self._next]) if self._next < len(self._selected) else ""


def name_of(task: Any) -> str:
    """The task's name with its role; what a template in it will be is not known before it runs."""
    return _TEMPLATE.sub("…", plain(task.get_name()))


def is_rescued(task: Any) -> bool:
    """Whether a block around the task goes on with a rescue where the task fails."""
    return any(outer.rescue for inner, outer in _blocks(task) if _is_in(inner, outer.block))


def is_cleaning_up(task: Any) -> bool:
    """Whether it is of a rescue or of what always runs, also where the play has ended."""
    return any(_is_in(inner, [*outer.rescue, *outer.always]) for inner, outer in _blocks(task))


def selects(tags: Collection[str], only: Collection[str], skipped: Collection[str]) -> bool:
    """Ansible's rule of --tags and --skip-tags; without its templates, which it would keep in the play."""
    wanted = (
        "always" in tags
        or ("all" in only and "never" not in tags)
        or bool(set(tags) & set(only))
        or ("tagged" in only and bool(tags) and "never" not in tags)
        or ("untagged" in only and not tags)
    )
    left_out = (
        ("all" in skipped and ("always" not in tags or "always" in skipped))
        or bool(set(tags) & set(skipped))
        or ("tagged" in skipped and bool(tags))
        or ("untagged" in skipped and not tags)
    )
    return (wanted or not only) and not left_out


def _is_played(task: Any, play: Any) -> bool:
    return (
        task.action not in _META
        and not task.implicit
        and selects([str(tag) for tag in task.tags], play.only_tags, play.skip_tags)
    )


def _blocks(task: Any) -> Iterator[tuple[Any, Any]]:
    """Each block around the task, after what it holds of the task: itself, a block, what includes a file."""
    inner, outer = task, task._parent
    while outer is not None:
        if hasattr(outer, "rescue"):
            yield inner, outer
        inner, outer = outer, outer._parent


def _is_in(inner: Any, part: Iterable[Any]) -> bool:
    # By its number: where tags or an include are at work, Ansible plays copies.
    return any(one._uuid == inner._uuid for one in part)


def _tasks(block: Any) -> Iterator[Any]:
    for part in (*block.block, *block.always):
        if hasattr(part, "rescue"):
            yield from _tasks(part)
        else:
            yield part


def _after_in_block(task: Any) -> Any:
    beside = getattr(task._parent, "block", None) or []
    places = [place for place, one in enumerate(beside) if one._uuid == task._uuid]
    after = beside[places[0] + 1 :] if places else []
    return after[0] if after and not hasattr(after[0], "rescue") else None
