# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""MLflow's registry as a copy of ours, for who looks there: a version for each of ours, and the same aliases.

MLflow sets an alias without asking what it was, so whoever comes last is right. Ours decides, and each mover looks
at ours again once it has written there: whatever the order, the last one to write has read the last one to move.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .._errors import GaudiError
from .._node.regular_file import read_bounded
from .aliases import read_alias
from .mlflow_rest import MlflowRest, ServerDownError, ServerRefusedError, is_server, printable
from .registry import Published
from .store import Store

VERSION_TAG, SIGNER_TAG = "gaudi3_scale.version", "gaudi3_scale.fingerprint"
# MLflow takes a local path for one of its own server's; this it leaves alone.
SCHEME = "gaudi3-scale"
_SHOWN = ("job", "commit", "license", "driver")
_ALIAS = re.compile(r"(?!latest$)(?!v[0-9]+$)[a-z0-9_-]+")
_MOST_TOKEN_BYTES = 1 << 16
_ATTEMPTS = 20
_TRIES = 3


def connect(url: str, token_file: str) -> MlflowRest:
    """GaudiError where that is no server, or the file has no token."""
    if not is_server(url):
        raise GaudiError(
            f"mlflow {url[:200]!r} is not the URL of a tracking server; give one with http:// or https://."
        )
    return MlflowRest(url, {"MLFLOW_TRACKING_TOKEN": _token(token_file)} if token_file else {})


def check_alias(alias: str) -> None:
    """GaudiError for one of ours that MLflow does not take."""
    if alias and not _ALIAS.fullmatch(alias):
        raise GaudiError(
            f"alias {alias!r} cannot be set in MLflow; use letters, digits, '_' and '-', but not latest or v1."
        )


def follow(server: MlflowRest, store: Store, model: Published, alias: str) -> str:
    """Have MLflow show this version, and what the alias is now. Why it does not, as a sentence; empty where it does."""
    told = ""
    for attempt in range(_TRIES):
        # Of two at once its database may refuse one.
        time.sleep(attempt)
        try:
            number = _version(server, model)
            if alias:
                _set_alias(server, store, model, alias, number)
            return ""
        except (ServerDownError, ServerRefusedError, LookupError, TypeError) as error:
            told = printable(str(error)) or type(error).__name__
            if not isinstance(error, ServerDownError):
                break
    return f"MLflow does not show {model.name} {model.version[:12]} ({told}); run it again when it answers."


def _version(server: MlflowRest, model: Published) -> str:
    """MLflow's number of the version, which is made where it has none."""
    try:
        server.call("registered-models/create", {"name": model.name})
    except ServerRefusedError as error:
        if "RESOURCE_ALREADY_EXISTS" not in str(error):
            raise
    found = _number_of(server, model.name, model.version)
    if found:
        return found
    facts = model.record.facts
    tags = {
        VERSION_TAG: model.version,
        SIGNER_TAG: model.fingerprint,
        **{f"gaudi3_scale.{name}": str(facts[name])[:5000] for name in _SHOWN if name in facts},
    }
    made = server.call(
        "model-versions/create",
        {
            "name": model.name,
            "source": model.path if model.path.startswith("s3://") else f"{SCHEME}:{model.path}",
            "description": f"Record: {model.path}/gaudi3_scale_model.json",
            "tags": [{"key": key, "value": value} for key, value in tags.items()],
        },
    )
    return str(made["model_version"]["version"])


def _number_of(server: MlflowRest, name: str, version: str) -> str:
    """Of several, which two publishers may have made at once, the first."""
    query = urlencode({"filter": f"name='{name}' AND tags.`{VERSION_TAG}`='{version}'", "max_results": 100})
    rows: list[dict[str, Any]] = server.call(f"model-versions/search?{query}", None).get("model_versions") or []
    return min((str(row["version"]) for row in rows), key=int, default="")


def _set_alias(server: MlflowRest, store: Store, model: Published, alias: str, number: str) -> None:
    version = model.version
    for _attempt in range(_ATTEMPTS):
        now = read_alias(store, model.name, alias).version
        if now != version:
            # Somebody moved it since: theirs is to be shown, if they have got so far.
            version, number = now, _number_of(server, model.name, now)
            if not number:
                return
        server.call("registered-models/alias", {"name": model.name, "alias": alias, "version": number})
        if read_alias(store, model.name, alias).version == version:
            return
    raise ServerDownError(f"the alias {alias} is moved again and again")


def _token(path: str) -> str:
    try:
        token = read_bounded(path, _MOST_TOKEN_BYTES, follow=True).decode("ascii").strip()
    except (OSError, ValueError) as error:
        raise GaudiError(f"mlflow_token_file {path} cannot be read ({error}); correct the path.") from error
    if not token or not token.isprintable() or " " in token:
        raise GaudiError(f"mlflow_token_file {Path(path)} has no token; write it as its only line.")
    return token
