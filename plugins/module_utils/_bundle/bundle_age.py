# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How old a bundle may be: not past its end, and never older than the one that a node has seen.

A mirror that is held back, or set back to a bundle with packages whose faults are known since, has a good signature.
"""

from __future__ import annotations

import calendar
import json
import time
from typing import Mapping

from .._errors import GaudiError
from .._node.json_file import read_json
from .._node.rendered_files import WantedFile, pending, read_text, write
from .bundle_site import SEEN
from .manifest import TIME_FORM, Manifest

_DAY_S = 86_400


def stamp(seconds: float) -> str:
    """Seconds since 1970 as a manifest has them."""
    return time.strftime(TIME_FORM, time.gmtime(seconds))


def now() -> str:
    """This machine's time of day as a manifest has it."""
    return stamp(time.time())


def end_of(created: str, valid_days: int) -> str:
    """When a bundle of that time expires."""
    return stamp(_seconds(created) + valid_days * _DAY_S)


def later(previous: str) -> str:
    """The time of a new manifest: now, and after the one before it also where the clock was set back."""
    return max(now(), stamp(_seconds(previous) + 1)) if previous else now()


def is_past_middle(manifest: Manifest) -> bool:
    """Whether less than half of its time is left."""
    return time.time() > (_seconds(manifest.created) + _seconds(manifest.expires)) / 2


def _seconds(text: str) -> float:
    return calendar.timegm(time.strptime(text, TIME_FORM))


def expired(manifest: Manifest, place: str, at: str) -> str:
    """The sentence about a bundle whose time is over at ``at``; empty for another."""
    if at < manifest.expires:
        return ""
    return (
        f"The bundle {place} expired at {manifest.expires} (it is {at} by the clock here); run build_bundle.yml, which "
        "signs it again, or accept it with bundle_allow_expired (gaudi_allow_expired_bundle)."
    )


def older(manifest: Manifest, place: str, seen: str) -> str:
    """The sentence about a bundle of before ``seen``, the time of the newest one that this node has seen."""
    if manifest.created >= seen:
        return ""
    return (
        f"The bundle {place} is of {manifest.created}, and this node has seen the one of {seen}; serve the newer "
        "one, or accept the older one with bundle_allow_older (gaudi_allow_older_bundle)."
    )


def seen_until_now(fingerprint: str, path: str = SEEN) -> str:
    """The time of the newest bundle of that key that this node has taken anything from; empty where it has not."""
    if read_text(path) is None:
        return ""
    seen = (read_json(path) or {}).get(fingerprint, "")
    if read_json(path) is None or not isinstance(seen, str):
        raise GaudiError(
            f"{path} is damaged, so it is unknown which bundles this node has seen; remove it, and run again.",
            file=path,
        )
    return seen


def remember(manifest: Manifest, path: str = SEEN) -> None:
    """Write down the bundle's time; an older one that was accepted is from now on the newest."""
    known: Mapping[str, object] = read_json(path) or {}
    text = json.dumps({**known, manifest.fingerprint: manifest.created}, indent=1, sort_keys=True) + "\n"
    for change in pending([WantedFile(path, text)]):
        write(change)
