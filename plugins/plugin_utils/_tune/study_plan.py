# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A tuning study as its nodes get it: one text, alike on all of them, and what names it; pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._tune.study import plan, study_from

# As many hexadecimal digits as a description has.
DIGEST = 16


def study_text(options: Mapping[str, Any]) -> str:
    """What is in the study's file; its environment may have secrets. Raises GaudiError for the first mistake."""
    return json.dumps(plan(options)["study"], indent=4, sort_keys=True, separators=(",", ": ")) + "\n"


def study_plan(options: Mapping[str, Any]) -> dict[str, Any]:
    """What anybody may see: ``flag_sets`` to be judged, the ``digest`` of the text, and most ``seconds`` of the study.

    Raises GaudiError for the first mistake of ``options``.
    """
    study = study_from(options)
    return {
        "flag_sets": plan(options)["flag_sets"],
        "digest": hashlib.sha256(study_text(options).encode()).hexdigest()[:DIGEST],
        # A trial that breaks is made once more, and one node may have to make them all.
        "seconds": 2 * study.trials * study.timeout,
    }


def shown_storage(storage: str, address: str, port: int) -> str:
    """Where the study is kept, for a description, which everybody can read: without what may be secret.

    An empty ``storage`` is the one that the node at ``address`` serves at ``port``.
    """
    if storage:
        return re.sub("[?].*", "", re.sub("//.*@", "//", storage))
    return f"grpc://{f'[{address}]' if ':' in address else address}:{port}"


def storage_words(storage: str, private: str) -> list[str]:
    """The arguments by which a node finds it: a file in the directory ``private`` has what may be secret."""
    return ["--storage", f"{private}/storage"] if storage else ["--credentials", private]
