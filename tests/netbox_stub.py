# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A NetBox of the tests' own on loopback: as much of its API as ``netbox.netbox.nb_inventory`` asks, with filters."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token"
VERSION = "4.3.0"
_FILTERS = [{"name": name} for name in ("tag", "status", "has_primary_ip", "limit", "exclude")]
_SCHEMA = {
    "info": {"version": VERSION},
    "paths": {
        f"/api/{kind}/": {"get": {"parameters": _FILTERS}}
        for kind in ("dcim/devices", "virtualization/virtual-machines")
    },
}


_TYPE = {"id": 1, "slug": "eight-cards", "model": "Eight cards", "display": "Eight cards"}


def record(number: int, name: str, address: str, *tags: str, status: str = "active") -> dict[str, Any]:
    """A device or a virtual machine as the API has it, with what an inventory needs."""
    return {
        "id": number,
        "name": name,
        "display": name,
        "status": {"value": status, "label": status.capitalize()},
        "primary_ip": {"address": f"{address}/24"} if address else None,
        "primary_ip4": {"address": f"{address}/24"} if address else None,
        "primary_ip6": None,
        "tags": [{"id": 1, "name": tag, "slug": tag, "display": tag} for tag in tags],
        "device_type": _TYPE,
        "serial": f"S{number}",
        "custom_fields": {},
        "local_context_data": None,
    }


@contextmanager
def netbox(devices: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Its address, while it is served."""
    lists = {"dcim/device-types": [_TYPE], "dcim/devices": devices, "virtualization/virtual-machines": machines}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            path, query = address.path.removeprefix("/api/").strip("/"), parse_qs(address.query)
            known = self.headers.get("Authorization") in (f"Token {TOKEN}", f"Bearer {TOKEN}")
            document = _answer(path, query, lists) if known else {"detail": "Invalid token"}
            body = json.dumps(document).encode()
            self.send_response(200 if known else 403)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: object) -> None:
            """Quiet: a test's screen is for its failures."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _answer(path: str, query: Mapping[str, list[str]], lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    if path == "status":
        return {"netbox-version": VERSION}
    if path == "schema":
        return _SCHEMA
    found = [one for one in lists.get(path, []) if "tags" not in one or _is_asked_for(one, query)]
    return {"count": len(found), "next": None, "previous": None, "results": found}


def _is_asked_for(one: Mapping[str, Any], query: Mapping[str, list[str]]) -> bool:
    return (
        all(tag in [had["slug"] for had in one["tags"]] for tag in query.get("tag", []))
        and one["status"]["value"] in query.get("status", [one["status"]["value"]])
        and ("has_primary_ip" not in query or bool(one["primary_ip"]) == (query["has_primary_ip"] == ["true"]))
    )
