# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A profile of ours for tuned, on top of the one that is active: where tuned sets the CPUs, nothing else may beside it.

tuned's maintainers name this way for one's own values over a profile: a new profile that includes it and then overrides
(tuned.conf(5), include; redhat-performance/tuned#162). tuned itself puts back what was before when profiles change.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node import systemd_units
from .._node.commands import Run, last_line
from .._node.rendered_files import FileChange, WantedFile, read_text
from .kernel.values import value_difference
from .node import Node, Setting

UNIT = "tuned.service"
PROGRAM = "tuned-adm"
PROFILE = "gaudi3-scale"
_BEFORE_AUTO = "# Before it, tuned chose the profile by itself."
_INCLUDE = re.compile(r"^include\s*=\s*(.*)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# More than any chain of includes; a profile that includes itself would be followed for ever.
_DEEPEST = 20

Sections = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Tuned:
    """tuned as it runs: its profiles (none: it was switched off), and whether it chose them by itself."""

    active: tuple[str, ...]
    auto: bool


def running(node: Node, run: Run) -> Tuned | None:
    """tuned, where it is installed and runs."""
    if not node.installed(PROGRAM) or not systemd_units.is_active(run, UNIT):
        return None
    active = (read_text(node.in_etc("tuned/active_profile")) or "").split()
    mode = (read_text(node.in_etc("tuned/profile_mode")) or "").strip()
    return Tuned(tuple(active), mode == "auto")


def profile_file(node: Node) -> str:
    """Where our profile is: tuned 2.24 moved all profiles one level down (redhat-performance/tuned#615)."""
    nested = Path(node.usr_lib, "tuned/profiles").is_dir()
    return node.in_etc(f"tuned/{'profiles/' if nested else ''}{PROFILE}/tuned.conf")


def plan_profile(daemon: Tuned | None, sections: Sections, node: Node) -> Setting:
    """Our profile with ``sections``, and none where there are none. Where tuned does not run, it is left as it is."""
    if daemon is None:
        return Setting([], {"profile": None, "includes": []}, [])
    wanted = {name: options for name, options in sections.items() if options}
    if not wanted:
        return Setting([WantedFile(profile_file(node), None, only_ours=True)], {"profile": None, "includes": []}, [])
    before = _before(daemon, node)
    facts: dict[str, object] = {"profile": PROFILE, "includes": list(before.active)}
    return Setting([WantedFile(profile_file(node), profile_text(before, wanted))], facts, [])


def profile_text(before: Tuned, sections: Sections) -> str:
    """The profile; what was active before is read from it again when it is to come back."""
    lines = ["# Written by gaudi3.scale.", *([_BEFORE_AUTO] if before.auto else [])]
    lines += ["[main]", "summary=What Gaudi training needs, on top of the profile that was active"]
    if before.active:
        lines.append(f"include={','.join(before.active)}")
    for name, options in sections.items():
        lines += ["", f"[{name}]", *(f"{option}={value}" for option, value in options.items())]
    return "\n".join(lines) + "\n"


def included(daemon: Tuned | None, node: Node) -> tuple[str, ...]:
    """The profiles that are, or will be, under ours; empty where tuned does not run."""
    return _before(daemon, node).active if daemon else ()


def _before(daemon: Tuned, node: Node) -> Tuned:
    if PROFILE not in daemon.active:
        return daemon
    text = read_text(profile_file(node)) or ""
    found = _INCLUDE.search(text)
    names = re.split(r"[\s,;]+", found[1].strip()) if found else []
    return Tuned(tuple(filter(_NAME.fullmatch, names)), _BEFORE_AUTO in text)


def leave(daemon: Tuned | None, setting: Setting, node: Node, run: Run, check_mode: bool) -> dict[str, str] | None:
    """Go back to what was active before, while our profile is still there; the step made (in check mode: to make)."""
    if daemon is None or setting.facts["profile"] or PROFILE not in daemon.active:
        return None
    before = _before(daemon, node)
    if not check_mode:
        if before.auto:
            _adm(run, "auto_profile")
        elif before.active:
            _adm(run, "profile", *before.active)
        else:
            _adm(run, "off")
    back = "its own choice" if before.auto else " ".join(before.active) or "none"
    return value_difference("tuned: active profile", PROFILE, back)


def enter(
    daemon: Tuned | None, setting: Setting, run: Run, changes: Sequence[FileChange], check_mode: bool
) -> dict[str, str] | None:
    """Make our profile the active one, and have it read again where it changed; the step made (or to make)."""
    if daemon is None or not setting.facts["profile"]:
        return None
    is_active = PROFILE in daemon.active
    changed = any(change.wanted.path == setting.files[0].path for change in changes)
    if not check_mode and (changed or not is_active):
        _adm(run, "profile", *(daemon.active if is_active else (PROFILE,)))
    return None if is_active else value_difference("tuned: active profile", " ".join(daemon.active) or "none", PROFILE)


def _adm(run: Run, *words: str) -> None:
    done = run([PROGRAM, *words])
    if done.rc != 0:
        raise GaudiError(
            f"{PROGRAM} {' '.join(words)} failed: {last_line(done.stderr or done.stdout)}; see "
            "/var/log/tuned/tuned.log on the node."
        )


def sysctl_values(profiles: Sequence[str], key: str, node: Node) -> Iterator[tuple[str, str]]:
    """Each file of ``profiles`` and of what they include that sets ``key``, with its value."""
    seen: set[str] = set()
    waiting = [(name, 0) for name in profiles]
    while waiting:
        name, depth = waiting.pop(0)
        file = _file_of(name, node)
        if file is None or file in seen or depth > _DEEPEST:
            continue
        seen.add(file)
        parsed = _parsed(file)
        waiting += [(other, depth + 1) for other in re.split(r"[\s,;]+", parsed.get("main", "include", fallback=""))]
        for section in parsed.sections():
            value = parsed.get(section, key, fallback=None)
            if parsed.get(section, "type", fallback=section) == "sysctl" and value and "${" not in value:
                # "=>" raises only and "=<" lowers only (tuned.conf(5)).
                yield file, value.strip().lstrip("<>").strip("\"'").strip()


def _file_of(name: str, node: Node) -> str | None:
    plain = name.lstrip("-")
    if not _NAME.fullmatch(plain) or plain == PROFILE:
        return None
    roots = [f"{base}/tuned{below}" for base in (node.etc, node.usr_lib) for below in ("/profiles", "")]
    files = [Path(root, plain, "tuned.conf") for root in roots]
    return next((str(file) for file in files if file.is_file()), None)


def _parsed(file: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        delimiters=("=",), inline_comment_prefixes=("#",), strict=False, interpolation=None, allow_no_value=True
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(read_text(file) or "", file)
    except configparser.Error:
        # tuned cannot read it either, and says so in its own log.
        return configparser.ConfigParser()
    return parser
