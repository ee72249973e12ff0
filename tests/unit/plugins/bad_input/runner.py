# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Run one module under many attacks: a warmed-up process forks one for each, and judges what it leaves behind.

``python -m ...bad_input.runner MODULE DIRECTORY NTH`` prints one JSON object a line: a :class:`Verdict`. Of an option's
attacks each NTH is made, beginning with another one at each option.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import select
import shutil
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Mapping

from ansible.module_utils import basic
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import VARIABLE
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input import scratch
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.good_options import (
    READ_BY,
    SUPERVISION,
    good,
    parts,
    with_value,
)
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.hostile_values import Attack, attacks
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.jail import Jail
from ansible_collections.gaudi3.scale.tests.unit.plugins.bad_input.specifications import HERE, specification

LIMIT_S = 10.0
# Of a mapping within an option Ansible does not say which it is.
_ANSIBLES = ("dictionary requested", "unable to evaluate string")


@dataclass
class Ended:
    """What one process of a module left: what it said, what it touched, and what is otherwise in its place."""

    said: str = ""
    touched: list[str] = field(default_factory=list)
    hung: bool = False
    changed: set[str] = field(default_factory=set)
    after: dict[str, str] = field(default_factory=dict)

    @property
    def result(self) -> dict[str, Any] | None:
        try:
            answer = json.loads(self.said)
        except ValueError:
            return None
        return answer if isinstance(answer, dict) else None


@dataclass
class Verdict:
    """``kind``: refused, accepted, wrongly accepted, unclear (names nothing), traceback, hang, damage, deprecated."""

    module: str
    option: str
    label: str
    kind: str
    detail: str = ""


class Range:
    """A module and its place; ``attack`` gives the verdict on one."""

    def __init__(self, name: str, place: Path) -> None:
        self.name, self.place = name, place
        self.main = importlib.import_module(f"{HERE}.{name}").main
        declared = specification(name)
        assert declared is not None
        self.declared = declared
        self.options = good(declared.options, str(place), name)
        self._renew()
        self.before = scratch.picture(place)
        self.sayings: dict[str, str] = {}
        self.usual = self.run(self.options)
        assert self.usual.result is not None, f"{name} breaks with good options: {self.usual.said}"

    def _renew(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        scratch.build(self.place)

    def run(self, options: Mapping[str, Any], trouble: str = "") -> Ended:
        """One process with these options, and the place as it was before again."""
        ended = _forked(self.main, options, Jail(str(self.place), trouble))
        ended.after = after = scratch.picture(self.place)
        ended.changed = {name for name in {*self.before, *after} if self.before.get(name) != after.get(name)}
        if ended.changed:
            self._renew()
        return ended

    def attack(self, attack: Attack) -> Verdict:
        value = _in_place(attack.value, str(self.place))
        ended = self.run(with_value(self.options, self.declared.options, attack.option, value), attack.trouble)
        kind, detail = self._judge(attack, value, ended)
        return Verdict(self.name, attack.option, attack.label, kind, detail[:1500])

    def _usually(self, option: str) -> str:
        """What the module says to good options, where a suboption's engine, or its supervisors, read them."""
        first, _dot, rest = option.partition(".")
        holder: dict[str, Any] = {SUPERVISION: {}} if first == SUPERVISION else {}
        if rest and self.declared.options[first].get("type") == "list":
            holder = {first: [parts(self.declared.options[first]["options"])]}
        reader = {"engine": READ_BY[first]} if first in READ_BY else holder
        said_to = json.dumps(reader)
        if said_to not in self.sayings:
            ended = self.run({**self.options, **reader})
            self.sayings[said_to] = str((ended.result or {}).get("msg", ""))
        return self.sayings[said_to]

    def _judge(self, attack: Attack, value: Any, ended: Ended) -> tuple[str, str]:
        if ended.hung:
            return "hang", ended.said[-1500:]
        result = ended.result
        if result is None or "this is a bug of" in str(result.get("msg")) or ended.said.startswith("Traceback"):
            return "traceback", ended.said[-1500:]
        if "deprecations" in result:
            return "deprecated", str(result["deprecations"])
        refused = bool(result.get("failed"))
        harmed = self._harmed(attack, refused, ended)
        if harmed:
            return "damage", f"{harmed}: {result.get('msg')}"
        said = str(result.get("msg", ""))
        # A list of checks is what the module was asked for, whatever it says.
        is_answer = "checks" in result or said == self._usually(attack.option)
        # It went on until it met what the jail refuses of the machine.
        went_on = "Read-only file system" in said and str(self.place) not in said
        if not refused or (not attack.never and (is_answer or went_on)):
            return ("wrongly accepted" if attack.never else "accepted"), ""
        is_clear = _is_clear(said, attack.option, value) or (attack.trouble and "; " in said)
        return ("refused" if is_clear else "unclear"), said

    def _harmed(self, attack: Attack, refused: bool, ended: Ended) -> str:
        """What was changed that must not be: anything by what is refused at the door; ever, what was there before."""
        touched = [path for path in ended.touched if not _is_lock(path)]
        if refused and attack.never and touched:
            return f"touched {touched}"
        gone = ended.changed & {*self.before} - self.usual.changed
        # A copy beside the file is as good.
        lost = [name for name in gone if self.before[name] not in ended.after.values()]
        # What an atomic write leaves where it is cut off.
        left = [name for name in ended.changed - {*self.before} if re.search(r"/\.[^/]*\.\w{8}$", f"/{name}")]
        return f"lost {lost}" if lost else f"left {left}" if left else ""


def _is_lock(path: str) -> bool:
    """A lock, or the directory that was made for one."""
    return path.endswith(".lock") or any(Path(path).glob("*.lock"))


def _is_clear(said: str, option: str, value: Any) -> bool:
    """One sentence that names the option or what it was given."""
    given = value if isinstance(value, list) else [value]
    words = [
        option,
        option.rpartition(".")[2],
        *(shown for one in given if isinstance(one, (str, int)) and one != "" for shown in _as_shown(str(one))),
    ]
    is_reported = any(word in said for word in words) or said.startswith(_ANSIBLES)
    return is_reported and "\n" not in said and len(said) < 1000


def _as_shown(value: str) -> tuple[str, ...]:
    """As it is, and as a message has it that goes to a terminal: one of its lines, or all without what acts on that."""
    lines = (line for line in value.splitlines() if line.strip())
    return value, *lines, *("".join(one if one.isprintable() else instead for one in value) for instead in ("", " "))


def _in_place(value: Any, place: str) -> Any:
    if isinstance(value, str):
        return value.replace("{scratch}", place)
    return [_in_place(entry, place) for entry in value] if isinstance(value, list) and len(value) < 2 else value


def _forked(main: Any, options: Mapping[str, Any], jail: Jail) -> Ended:
    words = {**options, "_ansible_check_mode": False, "_ansible_remote_tmp": jail.place, "_ansible_diff": True}
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": words}).encode()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_and_end(main, arguments, jail, writing)
    os.close(writing)
    return _waited(child, reading)


def _run_and_end(main: Any, arguments: bytes, jail: Jail, writing: int) -> None:
    """The forked process; never returns."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(writing, 1)
    os.dup2(null, 2)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace")
    os.environ.update(
        {"PATH": f"{jail.place}/bin", "HOME": jail.place, "TMPDIR": jail.place, VARIABLE: f"{jail.place}/kernel"}
    )
    os.chdir(jail.place)
    basic._ANSIBLE_ARGS, basic._ANSIBLE_PROFILE = arguments, "legacy"
    try:
        jail.lock()
        main()
        print("Traceback: the module ended without a result")
    except SystemExit:
        pass
    except BaseException:
        print(traceback.format_exc())
    print(f"\n{json.dumps(jail.touched)}", flush=True)
    os._exit(0)


def _waited(child: int, reading: int) -> Ended:
    deadline, pieces = time.monotonic() + LIMIT_S, []
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        if not (piece := os.read(reading, 1 << 16)):
            return _ended(child, reading, pieces)
        pieces.append(piece)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return Ended(b"".join(pieces).decode(errors="replace"), hung=True)


def _ended(child: int, reading: int, pieces: list[bytes]) -> Ended:
    os.close(reading)
    os.waitpid(child, 0)
    said, _, touched = b"".join(pieces).decode(errors="replace").strip().rpartition("\n")
    try:
        return Ended(said.strip(), json.loads(touched))
    except ValueError:
        return Ended(f"{said}\n{touched}")


def main(name: str, place: str, nth: int) -> None:
    """Attacks on all options of a module."""
    held = Range(name, Path(place))
    for number, (option, rules) in enumerate(held.declared.options.items()):
        every = list(attacks(option, rules, held.declared.exceptions, name))
        for attack in every[number % nth :: nth] or every[:1]:
            print(json.dumps(asdict(held.attack(attack))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
