# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The one exception of the core."""

from __future__ import annotations


class GaudiError(Exception):
    """Something the operator has to know or do.

    ``message`` is one sentence that names the object, what is wrong with it, and the remedy.
    ``facts`` are the details a program wants; a module returns them beside ``msg``.
    """

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.facts = facts
