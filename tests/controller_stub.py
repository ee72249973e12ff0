# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A controller of the tests' own on loopback: it keeps objects, and refuses what ``controller_contract.json`` has not.

A job that is launched has ended well at once. What it accepts is what the API's documentation, the modules of awx.awx
and AWX's source say that AWX accepts; no AWX has answered here.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.controller_launch import refusals, variables

CONTRACT = json.loads((Path(__file__).parent / "controller_contract.json").read_text(encoding="utf-8"))
TOKEN = "a-token"
_TYPES = {"str": str, "int": int, "bool": bool, "dict": dict, "null": type(None)}
_ANSWERS = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": float,
}


class RefusedError(Exception):
    """A status and what the API says of it."""

    def __init__(self, status: int, said: Mapping[str, Any]) -> None:
        super().__init__(said)
        self.status, self.said = status, said


@dataclass
class Controller:
    """Its objects by endpoint and id, and each request that would change something."""

    prefix: str = "/api/"
    objects: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    related: dict[tuple[str, int, str], list[int]] = field(default_factory=dict)
    surveys: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    writes: list[tuple[str, str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.objects = {name: {} for name in CONTRACT if name != "source"}
        self.add("organizations", {"name": "Default"})

    def add(self, endpoint: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """A new object; refuses what the contract does not have."""
        self._refuse_unknown(endpoint, given)
        missing = [name for name in CONTRACT[endpoint]["required"] if name not in given]
        if missing:
            raise RefusedError(400, {missing[0]: ["This field is required."]})
        number = 1 + sum(map(len, self.objects.values()))
        url = f"{self.prefix}v2/{endpoint}/{number}/"
        made = {
            **given,
            "id": number,
            "url": url,
            "type": _singular(endpoint),
            "summary_fields": {},
            "scm_revision": "",
        }
        made["related"] = {"survey_spec": f"{url}survey_spec/"}
        self.objects[endpoint][number] = made
        return made

    def names(self, endpoint: str) -> list[str]:
        return [str(one["name"]) for one in self.objects[endpoint].values()]

    def named(self, endpoint: str, name: str) -> dict[str, Any]:
        return next(one for one in self.objects[endpoint].values() if name in (one.get("name"), one.get("identifier")))

    def survey_of(self, endpoint: str, name: str) -> dict[str, Any]:
        return self.surveys.get((endpoint, self.named(endpoint, name)["id"]), {})

    def answer(self, method: str, path: str, query: Mapping[str, str], given: Any) -> tuple[int, Any]:
        """The status and the document of one request."""
        if method != "GET" and not path.startswith("tokens/"):
            self.writes.append((method, path, given))
        if path == "tokens/" and method == "POST":
            return 201, {"id": 1, "token": TOKEN}
        if path.startswith("tokens/") and method == "DELETE":
            return 204, None
        if path == "config/":
            return 200, {"version": "24.6.1"}
        parts = path.strip("/").split("/")
        if parts[0] == "unified_job_templates":
            return 200, _page([self._unified(one) for one in self._templates() if _matches(one, query)])
        if parts[0] not in self.objects:
            raise RefusedError(404, {"detail": "Not found."})
        if len(parts) == 1:
            return self._listed(method, parts[0], query, given)
        number = int(parts[1])
        if number not in self.objects[parts[0]]:
            raise RefusedError(404, {"detail": "Not found."})
        if len(parts) == 2:
            return self._one(method, parts[0], number, given)
        return self._sub(method, parts[0], number, parts[2], given)

    def _templates(self) -> list[dict[str, Any]]:
        kinds = ("job_templates", "workflow_job_templates", "workflow_approval_templates")
        return [one for kind in kinds for one in self.objects[kind].values()]

    def _unified(self, template: Mapping[str, Any]) -> dict[str, Any]:
        """As one asks for it who wants to launch it."""
        organization = self.objects["organizations"].get(template.get("organization", 0), {"name": ""})
        prompts = dict.fromkeys(("ask_labels_on_launch", "ask_inventory_on_launch", "ask_limit_on_launch"), False)
        return {
            **prompts,
            "ask_variables_on_launch": False,
            **template,
            "summary_fields": {"organization": {"name": organization["name"]}},
            "related": {**template["related"], "launch": f"{template['url']}launch/"},
        }

    def _launch(self, endpoint: str, number: int, given: Mapping[str, Any]) -> tuple[int, Any]:
        template = self.objects[endpoint][number]
        said = given.get("extra_vars") or {}
        wanted = json.loads(said) if isinstance(said, str) else said
        spec = self.surveys.get((endpoint, number), {}) if template.get("survey_enabled") else {}
        refused = refusals(spec, wanted)
        if refused:
            raise RefusedError(400, {"variables_needed_to_start": refused})
        asked = {one["variable"] for one in spec.get("spec", [])}
        if not template.get("ask_variables_on_launch"):
            wanted = {name: value for name, value in wanted.items() if name in asked}
        whole = variables(json.loads(template.get("extra_vars") or "{}"), spec, wanted)
        job = {"name": template["name"], "extra_vars": json.dumps(whole), "status": "successful"}
        return 201, self.add("jobs", {**job, "created": "2026-01-01T00:00:00Z"})

    def _listed(self, method: str, endpoint: str, query: Mapping[str, str], given: Any) -> tuple[int, Any]:
        if method == "POST":
            return 201, self.add(endpoint, given)
        return 200, _page([one for one in self.objects[endpoint].values() if _matches(one, query)])

    def _one(self, method: str, endpoint: str, number: int, given: Any) -> tuple[int, Any]:
        one = self.objects[endpoint][number]
        if method == "PATCH":
            self._refuse_unknown(endpoint, given)
            one.update(given)
        return 200, one

    def _sub(self, method: str, endpoint: str, number: int, part: str, given: Any) -> tuple[int, Any]:
        if part == "survey_spec" and CONTRACT[endpoint].get("survey"):
            return self._survey(method, endpoint, number, given)
        if part == "launch" and CONTRACT[endpoint].get("survey"):
            return self._launch(endpoint, number, given)
        if part == "create_approval_template":
            made = self.add("workflow_approval_templates", given)
            node = self.objects[endpoint][number]
            node["unified_job_template"] = made["id"]
            node["related"] = {**node["related"], "unified_job_template": made["url"]}
            return 201, made
        if part not in CONTRACT[endpoint].get("relations", []):
            raise RefusedError(404, {"detail": "Not found."})
        there = self.related.setdefault((endpoint, number, part), [])
        if method == "POST":
            if given.get("disassociate"):
                there.remove(given["id"])
            else:
                there.append(given["id"])
            return 204, None
        return 200, _page([{"id": one} for one in there])

    def _survey(self, method: str, endpoint: str, number: int, given: Any) -> tuple[int, Any]:
        if method == "POST":
            refuse_bad_survey(given)
            self.surveys[endpoint, number] = given
        if method == "DELETE":
            self.surveys.pop((endpoint, number), None)
        return 200, self.surveys.get((endpoint, number), {})

    def _refuse_unknown(self, endpoint: str, given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if name not in CONTRACT[endpoint]["fields"]:
                raise RefusedError(400, {name: [f"{endpoint} has no such field."]})
            kind, *rest = CONTRACT[endpoint]["fields"][name].split()
            if kind == "id":
                kinds = self._templates() if name == "unified_job_template" else self.objects[rest[0]].values()
                if value not in [one["id"] for one in kinds]:
                    raise RefusedError(400, {name: [f'Invalid pk "{value}" - object does not exist.']})
            elif not isinstance(value, _TYPES[kind]) or (rest and value not in rest):
                raise RefusedError(400, {name: [f'"{value}" is not a valid choice.']})


def refuse_bad_survey(given: Mapping[str, Any]) -> None:
    """Refuses a survey as AWX does, from what its view of survey_spec looks at."""
    said = _survey_error(given)
    if said:
        raise RefusedError(400, {"error": said})


def _survey_error(given: Mapping[str, Any]) -> str:
    for name, kind in (("name", str), ("description", str), ("spec", list)):
        if not isinstance(given.get(name), kind):
            return f"Expected another type for field '{name}'."
    if not given["spec"]:
        return "'spec' doesn't contain any items."
    variables = [one["variable"] for one in given["spec"]]
    if len({*variables}) != len(variables):
        return "'variable' duplicated in survey question."
    return next(filter(None, map(_question_error, given["spec"])), "")


def _question_error(one: Mapping[str, Any]) -> str:
    for name, kind in (("type", str), ("question_name", str), ("variable", str), ("required", bool)):
        if not isinstance(one.get(name), kind):
            return f"'{name}' missing from survey question {one}"
    if one["type"] not in _ANSWERS:
        return f"'{one['type']}' is not an allowed question type."
    default = one.get("default", "")
    if default != "" and type(default) is not _ANSWERS[one["type"]]:
        return f"Default value {default} of {one['variable']} expected to be {one['type']}."
    if any(one[limit] is not None and not isinstance(one[limit], int) for limit in ("min", "max") if limit in one):
        return "The limit expected to be integer."
    if one["type"] in ("multiselect", "multiplechoice"):
        if not one.get("choices"):
            return f"Survey question of type {one['type']} must specify choices."
        given = str(default).splitlines()
        if (one["type"] == "multiplechoice" and len(given) > 1) or not {*given} <= {*one["choices"]}:
            return "Default choice must be answered from the choices listed."
    return ""


def _page(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"count": len(found), "next": None, "previous": None, "results": found}


def _matches(one: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    return all(str(one.get(name)) == value for name, value in query.items())


def _singular(endpoint: str) -> str:
    return re.sub("ies$", "y", endpoint) if endpoint.endswith("ies") else endpoint.removesuffix("s")


class _Handler(BaseHTTPRequestHandler):
    controller: Controller
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        with self.controller.lock:
            status, document = self._document(json.loads(text) if text else {})
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-API-Product-Name", "AWX")
        self.send_header("X-API-Product-Version", "24.6.1")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - as http.server names them

    def _document(self, given: Any) -> tuple[int, Any]:
        address = urlsplit(self.path)
        start = f"{self.controller.prefix}v2/"
        if not address.path.startswith(start):
            return 404, {"detail": "Not found."}
        if self.headers.get("Authorization") not in (f"Bearer {TOKEN}", "Basic YWRtaW46c2VjcmV0"):
            return 401, {"detail": "Authentication credentials were not provided."}
        try:
            return self.controller.answer(
                self.command, address.path.removeprefix(start), dict(parse_qsl(address.query)), given
            )
        except RefusedError as error:
            return error.status, error.said

    def log_message(self, *_said: object) -> None:
        """Quiet: a test's screen is for its failures."""


@contextmanager
def served(controller: Controller, certificate: Path | None = None) -> Iterator[str]:
    """The address at which it answers; by TLS where a file with certificate and key is given."""
    handler = type("Handler", (_Handler,), {"controller": controller})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
