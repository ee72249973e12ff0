# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a host failed, in one line, from what its task returned; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import cut, plain

HIDDEN = "its output is hidden by no_log"
# What stands for a host's own name and address in a reason that many hosts share.
ANY_HOST = "HOST"
# Say no more than that it failed, which the line says before; ansible-core 2.19 and newer have the first two.
_FIRST_WORDS = ("Task failed: ", "Module failed: ", "Failed to connect to the host via ssh: ")
# What ssh says of each host that does not answer, before it says why.
_OF_SSH = re.compile(
    r'(?:Data could not be sent to remote host "[^"]*"\. Make sure this host can be reached over ssh: )?'
    r"ssh: connect to host \S+ port \d+: "
)
# Of these the program's own last words are the reason.
_SAYS_NOTHING = re.compile(r"non-zero return code|MODULE FAILURE|Module result deserialization failed")
_LAST_WORDS = ("stderr", "module_stderr", "stdout", "module_stdout")
_MOST_OF_ITEM = 40
# The page that a role's task names. The screen has each page once, at its end.
_SEE = re.compile(rf" ?\bSee docs/\w+\.md in {re.escape(ADDRESS)}\.")


def reason_of(result: Mapping[str, Any]) -> str:
    """The message in one line; of a loop that of the first item that failed."""
    if "censored" in result or result.get("_ansible_no_log"):
        return HIDDEN
    items = [one for one in result.get("results") or [] if isinstance(one, Mapping)]
    bad = [one for one in items if one.get("failed") or one.get("unreachable")]
    if bad:
        return f"{_items(len(bad), len(items), bad[0])}: {reason_of(bad[0])}"
    said = result.get("msg") or result.get("reason") or ""
    text = _SEE.sub("", plain("; ".join(map(str, said)) if isinstance(said, (list, tuple)) else said))
    for words in _FIRST_WORDS:
        text = text.removeprefix(words)
    if not text or _SAYS_NOTHING.match(text):
        text = ": ".join(filter(None, [text, _last_words(result)]))
    return text or "it gave no reason"


def brief(reason: str) -> str:
    """The reason where there is little room: without what is the same in all that ssh cannot reach."""
    return _OF_SSH.sub("", reason)


def alike(reason: str, names: Iterable[str]) -> str:
    """The reason without the host's own names, so that it is the same for each host that it is true of."""
    for name in names:
        if len(name) > 1:
            reason = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])(?!\.\w)", ANY_HOST, reason)
    return reason


def _items(bad: int, whole: int, first: Mapping[str, Any]) -> str:
    if first.get("_ansible_no_log"):
        return f"{bad} of {whole} items"
    label = first.get("_ansible_item_label", first.get("item"))
    return f"{bad} of {whole} items, first {cut(plain(label), _MOST_OF_ITEM)}"


def _last_words(result: Mapping[str, Any]) -> str:
    for name in _LAST_WORDS:
        lines = [line for line in str(result.get(name) or "").splitlines() if line.strip()]
        if lines:
            return plain(lines[-1])
    return ""
