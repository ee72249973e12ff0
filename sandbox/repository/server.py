# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Serves one directory over HTTP; the package repository container's only process."""

from __future__ import annotations

import signal
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Handler(SimpleHTTPRequestHandler):
    """Static files over connections that stay open, which apt and pip use well."""

    protocol_version = "HTTP/1.1"
    server_version = "gaudi3-scale-sandbox-repository"

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, directory=sys.argv[1], **named)  # type: ignore[arg-type]


def main() -> None:
    """``server.py DIRECTORY PORT``; ends at SIGTERM, which process 1 would otherwise ignore."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ThreadingHTTPServer(("", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
