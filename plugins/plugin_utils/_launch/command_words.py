# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The words of a command that was typed as one line, as with ``-e`` or into a controller's survey; pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Union

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError


def command_words(command: Union[str, Sequence[object]], option: str) -> list[str]:
    """Split as a shell splits it, which expands nothing; a list is taken as it is.

    Raises GaudiError, which names ``option``, for a quotation mark that nothing closes.
    """
    if not isinstance(command, str):
        return [str(word) for word in command]
    try:
        return shlex.split(command)
    except ValueError:
        raise GaudiError(
            f"{option} is {command:.200}, with a quotation mark or a backslash that nothing follows; close it, or "
            "give a list of words."
        ) from None
