# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""MLflow's tracking server by its REST interface (2.0), as far as curves need it. Standard library only.

Its own client retries for minutes, and waits at the end of the process. Environment variables are those that it reads.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from typing import Any, Mapping, Sequence
from urllib.parse import quote, urlsplit

from gaudi3_scale.core._errors import GaudiError

URI, EXPERIMENT = "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"
SECRETS = ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD")
DEFAULT_EXPERIMENT = "gaudi3_scale"
# What log-batch takes at once.
MOST_VALUES = 1000
TIMEOUT_S = 10.0
_MOST_ANSWER_BYTES = 1 << 22
# Of which a run is found again whose creation was answered to nobody.
SPOOL_TAG = "gaudi3_scale.spool"
_LATER = (408, 409, 425, 429, 500, 502, 503, 504)


class ServerDownError(Exception):
    """It may answer a little later."""


class ServerRefusedError(Exception):
    """It does not take this, also later."""


def uri_fault(environment: Mapping[str, str]) -> str | None:
    """Why no server can be used, as the rest of a sentence."""
    uri = environment.get(URI, "")
    if not uri:
        return f"{URI} is not set; set it for the job (gaudi_training_environment) to the URL of a tracking server."
    try:
        parts = urlsplit(uri)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or not uri.isprintable() or " " in uri:
        return f"{URI} is not the URL of a tracking server (http:// or https://); correct it."
    return None


class MlflowServer:
    """One tracking server. Methods raise ServerDownError or ServerRefusedError."""

    def __init__(self, environment: Mapping[str, str], timeout: float = TIMEOUT_S) -> None:
        self._uri = environment[URI].rstrip("/")
        self._experiment = environment.get(EXPERIMENT) or DEFAULT_EXPERIMENT
        self._headers = {"Content-Type": "application/json", **_authorization(environment)}
        certificates = environment.get("MLFLOW_TRACKING_SERVER_CERT_PATH")
        context = ssl.create_default_context(cafile=certificates) if certificates else None
        handlers = [urllib.request.HTTPSHandler(context=context)] if context else []
        self._opener = urllib.request.build_opener(*handlers, _NoRedirect())
        self._timeout = timeout

    def run_of(self, spool: str, job: str, began_ms: int) -> str:
        """The id of the run with these points, which is made where it is not there yet."""
        experiment = self._experiment_id()
        wanted = {"experiment_ids": [experiment], "filter": f"tags.`{SPOOL_TAG}` = '{spool}'", "max_results": 1}
        found = self._call("runs/search", wanted).get("runs") or []
        if found:
            return str(found[0]["info"]["run_id"])
        tags = {SPOOL_TAG: spool, "gaudi3_scale.job": job, "mlflow.source.name": "gaudi3_scale.train"}
        made = self._call(
            "runs/create",
            {
                "experiment_id": experiment,
                "run_name": job,
                "start_time": began_ms,
                "tags": [{"key": key, "value": value} for key, value in tags.items()],
            },
        )
        return str(made["run"]["info"]["run_id"])

    def log(self, run: str, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Of key, value, timestamp (ms) and step; the same once more changes nothing, since all four are its key."""
        for start in range(0, len(metrics), MOST_VALUES):
            self._call("runs/log-batch", {"run_id": run, "metrics": list(metrics[start : start + MOST_VALUES])})

    def end(self, run: str, status: str, ended_ms: int) -> None:
        """FINISHED, FAILED or KILLED."""
        self._call("runs/update", {"run_id": run, "status": status, "end_time": ended_ms})

    def _experiment_id(self) -> str:
        query = quote(self._experiment, safe="")
        try:
            found = self._call(f"experiments/get-by-name?experiment_name={query}", None)
            return str(found["experiment"]["experiment_id"])
        except ServerRefusedError as error:
            if "RESOURCE_DOES_NOT_EXIST" not in str(error):
                raise
        try:
            return str(self._call("experiments/create", {"name": self._experiment})["experiment_id"])
        except ServerRefusedError as error:
            if "RESOURCE_ALREADY_EXISTS" in str(error):
                # Another job's was faster.
                raise ServerDownError(str(error)) from error
            raise

    def _call(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """The answer to a POST, or, without a body, to a GET."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._uri}/api/2.0/mlflow/{path}", data, self._headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return _object(_read(answer, self._timeout))
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error, self._timeout) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerDownError(f"{type(reason).__name__}: {reason}") from error
        except ValueError as error:
            raise ServerRefusedError(f"its answer is none of MLflow's ({error})") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is for the server that it was given for."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None


def _authorization(environment: Mapping[str, str]) -> dict[str, str]:
    token = environment.get("MLFLOW_TRACKING_TOKEN")
    if token:
        return {"Authorization": f"Bearer {token}"}
    name, password = environment.get("MLFLOW_TRACKING_USERNAME"), environment.get("MLFLOW_TRACKING_PASSWORD")
    if name and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
    return {}


def _read(answer: Any, timeout: float) -> bytes:
    """All of it; ServerDownError where it comes byte by byte for longer than that."""
    end, found = time.monotonic() + timeout, b""
    while piece := answer.read1(1 << 16):
        found += piece
        if time.monotonic() > end:
            raise ServerDownError("its answer takes too long")
        if len(found) > _MOST_ANSWER_BYTES:
            raise ServerRefusedError("its answer is too large")
    return found


def _object(content: bytes) -> dict[str, Any]:
    found = json.loads(content)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def _refused(error: urllib.error.HTTPError, timeout: float) -> Exception:
    try:
        told = _object(_read(error, timeout))
        what = f"{told.get('error_code', error.code)}: {str(told.get('message', ''))[:200]}"
    except (ValueError, OSError, http.client.HTTPException, ServerRefusedError, ServerDownError):
        what = f"HTTP {error.code}"
    return ServerDownError(what) if error.code in _LATER else ServerRefusedError(what)


def server_of(environment: Mapping[str, str] = os.environ) -> MlflowServer:
    """The server of the environment. GaudiError where it names none, or a file with certificates that is not there."""
    fault = uri_fault(environment)
    if fault:
        raise GaudiError(fault)
    try:
        return MlflowServer(environment)
    except OSError as error:
        raise GaudiError(f"MLFLOW_TRACKING_SERVER_CERT_PATH cannot be read ({error.strerror or error}).") from error
