# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where a study is kept so that several nodes can work on it (docs/tuning_training.md).

Optuna's gRPC proxy takes no JournalStorage (optuna/optuna#6084), so the file behind it is SQLite's, which one process
alone opens. A site's own database, or a file on a shared file system, needs no proxy.
"""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, GrpcStorageProxy, JournalStorage, get_storage, run_grpc_proxy_server
from optuna.storages.journal import JournalFileBackend

from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.core.job.network import port_is_free

# What a storage that went away raises, whichever it is.
LOST = (grpc.RpcError, StorageInternalError, ConnectionError)
# Long enough for the node that keeps the study to boot, or to be started again.
CONNECT_S = 300.0


def open_storage(where: str, patience: float = CONNECT_S) -> BaseStorage:
    """The storage meant by ``grpc://HOST:PORT``, by an absolute path (a journal file), or by a URL of Optuna's.

    Raises GaudiError for one that cannot be reached within ``patience`` seconds.
    """
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if where.startswith("/"):
        return JournalStorage(JournalFileBackend(where))
    url = urlsplit(where)
    try:
        if url.scheme != "grpc":
            return get_storage(where)
        proxy = GrpcStorageProxy(host=url.hostname or "localhost", port=url.port or 0)
        proxy.wait_server_ready(patience)
    except Exception as error:
        # A URL may have a password in it.
        place = f"{url.scheme}://{url.hostname or url.path}"
        reason = " ".join(str(error).split())[:200]
        raise GaudiError(
            f"tune_storage {place} cannot be used ({type(error).__name__}: {reason}); look at that host and port, or "
            "name another storage."
        ) from error
    return proxy


def serve(path: Path, port: int) -> None:
    """Let the other nodes reach the study in the SQLite file ``path`` for as long as this process lives."""
    if not port_is_free(port):
        raise GaudiError(f"tune_port {port} is in use on this node; choose another port, or stop what uses it.")
    warnings.filterwarnings("ignore", category=ExperimentalWarning)
    path.parent.mkdir(parents=True, exist_ok=True)
    # One thread: SQLite has one writer at a time, and a study has few writes.
    arguments = {"host": "0.0.0.0", "port": port, "thread_pool": ThreadPoolExecutor(max_workers=1)}
    storage = get_storage(file_url(path))
    threading.Thread(target=run_grpc_proxy_server, args=(storage,), kwargs=arguments, daemon=True).start()


def file_url(path: Path) -> str:
    return f"sqlite:///{path.absolute()}"
