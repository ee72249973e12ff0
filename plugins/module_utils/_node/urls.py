# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""URLs that an operator or a signed manifest names: what may be asked, and written into a file of apt, dnf or pip."""

from __future__ import annotations

import re
import urllib.parse
from typing import Sequence

from .._errors import GaudiError

_LONGEST = 2000
# Of RFC 3986 without what has a meaning in a shell, in sources.list(5) or in an INI file, and without a fragment.
_CHARACTERS = r"A-Za-z0-9._~:@!$&*+,;=%()-"
_URL = re.compile(
    rf"(?:https?://(?:[{_CHARACTERS}]*@)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?|file://)"
    rf"(?:/[{_CHARACTERS}/]*)?(?:\?[{_CHARACTERS}/?]*)?"
)


def is_url(url: str) -> bool:
    """Whether it is a URL of https, http or file that can be in a file of a package manager as it is."""
    return len(url) <= _LONGEST and _URL.fullmatch(url) is not None and url != "file://"


def checked_url(option: str, url: str, plain_http_hosts: Sequence[str] = ()) -> str:
    """``url`` without a slash at its end. Raises :class:`GaudiError` for what is none, and for unnamed plain HTTP."""
    if not is_url(url):
        raise GaudiError(f"{option} must be a URL of https://, http:// or file://, not {url[:200]!r}.", option=option)
    refuse_plain_http(option, url, plain_http_hosts)
    return url.rstrip("/")


def refuse_plain_http(option: str, url: str, plain_http_hosts: Sequence[str]) -> None:
    """HTTP without TLS is for hosts that the operator named."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http" and host not in [name.lower() for name in plain_http_hosts]:
        raise GaudiError(
            f"{option} uses plain http to {host}, where anyone on the path can change what is downloaded; use https, "
            f"or name {host} in plain_http_hosts (gaudi_plain_http_hosts).",
            option=option,
        )
