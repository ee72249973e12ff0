# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Exact versions of what pip takes from a package index, with the hashes of its files: values only.

The collection knows those of the node library and of its extras (``pin_table.py``); a site adds its own, or takes some
away. Where the vendor's wheels ask for something else, they are right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from .._errors import GaudiError
from .requirement import Requirement, named_requirement
from .wheel_bundle import normalized

BASE, SITE = "base", "site"
_ENTRY = re.compile(r"^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\s*==\s*([A-Za-z0-9.!+_-]+))?$")
_HASH = re.compile(r"^sha256:[0-9a-f]{64}$")
_LOWER_BOUND = re.compile(r"^(?:>=?|!=)\s*([0-9][0-9A-Za-z.!+_-]*)$")


@dataclass(frozen=True)
class Pin:
    """One distribution. ``needed_by`` has :data:`BASE` for what every environment has, else the extras that need it.

    ``marker`` is a PEP 508 condition on the Python, or empty; ``sha256`` the hashes of the files that may be taken.
    """

    name: str
    version: str
    needed_by: tuple[str, ...] = (BASE,)
    marker: str = ""
    sha256: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """As pip's constraints have it."""
        return f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")

    @property
    def hashed_line(self) -> str:
        """As pip's requirements have it where hashes are demanded."""
        return " ".join([self.line, *(f"--hash=sha256:{digest}" for digest in self.sha256)])


def chosen(known: Iterable[Pin], site: Sequence[str], requirements: Sequence[str]) -> list[Pin]:
    """The pins that hold: the site's, and those of the collection of which neither site nor requirements speak.

    A requirement with a version of its own is the operator's word, and wins over the collection's pin.
    """
    own = dict(map(_sites_pin, site))
    asked = {requirement.name: requirement for requirement in map(named_requirement, requirements)}
    pins = {pin.name: pin for pin in known if pin.name not in own and _agrees(pin, asked.get(pin.name))}
    pins.update((name, pin) for name, pin in own.items() if pin)
    return [pins[name] for name in sorted(pins)]


def needed(pins: Iterable[Pin], extras: Sequence[str]) -> list[Pin]:
    """Those of an environment with these extras."""
    return [pin for pin in pins if {BASE, SITE, *extras} & set(pin.needed_by)]


def render(pins: Iterable[Pin]) -> str:
    """A constraints file."""
    head = "# Written by gaudi3.scale: exact versions of what comes from a package index.\n"
    return head + "".join(f"{pin.line}\n" for pin in pins)


def hashed_requirements(requirements: Sequence[str], pins: Sequence[Pin]) -> list[str]:
    """Lines of a requirements file for ``pip --require-hashes``.

    pip before 25 takes no hashes from constraints, so every package that gets installed is a requirement here.
    """
    pinned = {pin.name for pin in pins}
    unknown = [line for line in requirements if named_requirement(line).name not in pinned]
    return [*unknown, *(pin.hashed_line for pin in pins)]


def left_to(demands: Mapping[str, Iterable[str]], pins: Iterable[Pin]) -> list[str]:
    """Packages of which the vendor's wheels demand something (version specifiers by name) that the pin may not meet.

    Only lower bounds are compared here: what any other specifier means is for pip to work out.
    """
    return sorted({pin.name for pin in pins if not all(_meets(pin, wanted) for wanted in demands.get(pin.name, ()))})


def _meets(pin: Pin, specifiers: str) -> bool:
    bounds = [_LOWER_BOUND.match(part.strip()) for part in specifiers.split(",") if part.strip()]
    return all(bound is not None and _numbers(bound[1]) <= _numbers(pin.version) for bound in bounds)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", re.split(r"[A-Za-z+!]", version)[0])]


def _agrees(pin: Pin, requirement: Requirement | None) -> bool:
    return requirement is None or requirement.wanted.replace(" ", "") in ("", f"=={pin.version}")


def _sites_pin(entry: str) -> tuple[str, Pin | None]:
    """Name and pin of a site's entry; no pin where it is a name alone, which takes the collection's pin away."""
    pinned, *hashes = re.split(r"\s+--hash=", entry.strip())
    specifier, _semicolon, marker = pinned.partition(";")
    match = _ENTRY.match(specifier.strip())
    if match is None or not all(map(_HASH.match, hashes)) or (hashes and not match[2]) or "\n" in entry:
        raise GaudiError(
            f"pins has '{entry}'; write 'name==1.2', followed by ' --hash=sha256:<64 hex digits>' for each file that "
            "may be taken, or a name alone to remove its pin.",
            option="pins",
        )
    name = normalized(match[1])
    digests = tuple(text.partition(":")[2] for text in hashes)
    return name, Pin(name, match[2], (SITE,), marker.strip(), digests) if match[2] else None
