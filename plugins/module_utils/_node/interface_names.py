# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Names of network interfaces, as HCCL and gloo take them."""

from __future__ import annotations

import re

from .._errors import GaudiError

# Linux: at most 15 characters (if.h, IFNAMSIZ). HCCL_SOCKET_IFNAME: several, with = or ^ before the first.
_NAME = r"[A-Za-z0-9_.@][A-Za-z0-9_.:@-]{0,14}"
_NAMES = re.compile(rf"(?:[=^]?{_NAME}(?:,{_NAME})*)?", re.ASCII)


def check_interfaces(option: str, value: str) -> None:
    """Refuse what names no interface; an empty text names none on purpose."""
    if not _NAMES.fullmatch(value):
        raise GaudiError(
            f"{option} is {value!r:.80}, which is not the name of a network interface; give names from `ip link`."
        )
