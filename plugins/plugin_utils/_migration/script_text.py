# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a script of one click, its configuration or its log sets; pure. Nothing in it is run, nor filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.answers import Setting
from ansible_collections.gaudi3.scale.plugins.plugin_utils._migration.recipes import INSTALLER

_ASSIGNED = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")
_INSTALLER_URL = re.compile(r"gaudi-installer/(?P<release>\d+\.\d+\.\d+)/")
# habanalabs-dkms=1.23.0-695; habanalabs-dkms/jammy,now 1.23.0-695 all; ii  habanalabs-dkms  1.23.0-695  all.
_PACKAGE = re.compile(r"\bhabanalabs(?:-[a-z-]+)?\b[^\n\d]{0,40}(?P<version>\d+\.\d+\.\d+-\d+)\b")
_COMMANDS = ("install", "upgrade", "uninstall", "validate")
_WITH_A_VALUE = {"-t": "--type", "--type": "--type"}


def settings_in(text: str, file: str) -> list[Setting]:
    """Variables, the words of the vendor's installer, and the versions of its packages: each once."""
    found: dict[tuple[str, str], Setting] = {}
    versions: dict[str, None] = {}
    others = 0
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        named = [*_named_in(stripped)]
        versions.update(dict.fromkeys(package["version"] for package in _PACKAGE.finditer(stripped)))
        others += not named and not _PACKAGE.search(stripped)
        for name, value in named:
            found.setdefault((name, value), Setting(file, name, value))
    told = [*found.values(), *(Setting(file, "habanalabs packages", version) for version in versions)]
    return [*told, Setting(file, "other lines", f"{others} lines")] if others else told


def _named_in(line: str) -> Iterator[tuple[str, str]]:
    url = _INSTALLER_URL.search(line)
    if url:
        yield INSTALLER, url["release"]
        return
    if INSTALLER in line:
        yield from _words_of_the_installer(line.partition(INSTALLER)[2].split())
        return
    assigned = _ASSIGNED.fullmatch(line)
    if assigned:
        yield assigned["name"], _unquoted(assigned["value"].strip())


def _words_of_the_installer(words: list[str]) -> Iterator[tuple[str, str]]:
    """Up to where another command begins."""
    waiting = ""
    for word in words:
        if word in (";", "&&", "||", "|", "&") or word.startswith(("#", ">")):
            return
        if waiting:
            yield f"{INSTALLER} {waiting} {word}", "given"
            waiting = ""
        elif word in _WITH_A_VALUE:
            waiting = _WITH_A_VALUE[word]
        elif word.startswith("-") or word in _COMMANDS:
            yield f"{INSTALLER} {word}", "given"


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
