# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where a study is kept so that several nodes can work on it (docs/tune.md).

Optuna's gRPC proxy takes no JournalStorage (optuna/optuna#6084), so the file behind it is SQLite's, which one process
alone opens. A site's own database, or a file on a shared file system, needs no proxy.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import grpc
import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, get_storage
from optuna.storages.journal import JournalFileBackend

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.secret_words import HIDDEN
from gaudi3_scale.tune.credentials import SERVER, SERVER_KEY, WORKER, WORKER_KEY, read_credentials
from gaudi3_scale.tune.proxy import StudyProxy, start_server

# What a storage that went away raises, whichever it is.
LOST = (grpc.RpcError, StorageInternalError, ConnectionError)
# Long enough for the node that keeps the study to boot, or to be started again.
CONNECT_S = 300.0


def open_storage(where: str, credentials: Path | None = None, patience: float = CONNECT_S) -> BaseStorage:
    """The storage meant by ``grpc://HOST:PORT``, by an absolute path (a journal file), or by a URL of Optuna's.

    ``credentials`` is the directory of the study's certificates, without which no proxy is asked. Raises GaudiError for
    a storage that cannot be reached within ``patience`` seconds.
    """
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if where.startswith("/"):
        return JournalStorage(JournalFileBackend(where))
    url = urlsplit(where)
    # A URL may have a password in it.
    place = f"{url.scheme}://{url.hostname or url.path}"
    if url.scheme == "grpc" and credentials is None:
        raise GaudiError(
            f"gaudi_tune_storage {place} is a proxy without certificates; name the database behind it instead."
        )
    try:
        if credentials is None or url.scheme != "grpc":
            return get_storage(where)
        proxy = StudyProxy(url.hostname or "", url.port or 0, read_credentials(credentials, WORKER, WORKER_KEY))
        proxy.wait_server_ready(patience)
    except GaudiError:
        raise
    except Exception as error:
        reason = " ".join(_without_password(str(error), url).split())[:200]
        raise GaudiError(
            f"gaudi_tune_storage {place} cannot be used ({type(error).__name__}: {reason}); "
            f"look at that host and port, or "
            "name another storage."
        ) from error
    return proxy


def _without_password(text: str, url: SplitResult) -> str:
    hidden = [url.password or "", unquote(url.password or "")]
    for secret in filter(None, hidden):
        text = text.replace(secret, HIDDEN)
    return text


def serve(path: Path, where: str, credentials: Path) -> grpc.Server:
    """Let the other nodes reach the study in the SQLite file ``path`` by ``where``, ``grpc://HOST:PORT``.

    They get in for as long as what is returned is kept, and with a certificate of ``credentials`` alone.
    """
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    path.parent.mkdir(parents=True, exist_ok=True)
    url = urlsplit(where)
    own = read_credentials(credentials, SERVER, SERVER_KEY)
    return start_server(get_storage(file_url(path)), url.hostname or "", url.port or 0, own)


def file_url(path: Path) -> str:
    return f"sqlite:///{path.absolute()}"
