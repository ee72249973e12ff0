# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a browser may do for a page of ours."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Sequence

_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def content_policy(fragments: Sequence[str]) -> str:
    """Nothing is loaded and no form is sent; of scripts only those run that a plot of another library brings."""
    scripts = [script for fragment in fragments for script in _SCRIPT.findall(fragment)]
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = "; script-src " + " ".join(f"'sha256-{digest}'" for digest in digests) if digests else ""
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'{allowed}"
