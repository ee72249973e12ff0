# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Optuna's gRPC proxy for a storage, with mutual TLS, which Optuna's own server and client have no option for (5.0).

Whoever shows no certificate of the study's authority gets no answer to any call, and no trial.
"""

from __future__ import annotations

import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor

import grpc
from optuna.storages import BaseStorage, GrpcStorageProxy
from optuna.storages._grpc.auto_generated import api_pb2_grpc
from optuna.storages._grpc.client import GrpcClientCache
from optuna.storages._grpc.servicer import OptunaStorageProxyService

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.network import port_is_free
from gaudi3_scale.tune.credentials import Credentials

# As Optuna's own client: a study with many trials is one answer.
_ANY_SIZE = [("grpc.max_receive_message_length", -1)]


class StudyProxy(GrpcStorageProxy):
    """The storage behind ``host``, which has to show the certificate of the node that keeps the study."""

    def __init__(self, host: str, port: int, credentials: Credentials) -> None:
        self._credentials = credentials
        super().__init__(host=host, port=port)

    def _setup(self) -> None:
        shown = grpc.ssl_channel_credentials(
            self._credentials.authority, self._credentials.key, self._credentials.certificate
        )
        self._channel = grpc.secure_channel(place(self._host, self._port), shown, options=_ANY_SIZE)
        self._stub = api_pb2_grpc.StorageServiceStub(self._channel)
        self._cache = GrpcClientCache(self._stub)

    def wait_server_ready(self, timeout: float | None = None) -> None:
        """Raises ConnectionError where no server with the right certificate answers within ``timeout`` seconds."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout=timeout)
        except grpc.FutureTimeoutError as error:
            raise ConnectionError("no answer, or another study's certificate") from error


def start_server(storage: BaseStorage, host: str, port: int, credentials: Credentials) -> grpc.Server:
    """Let those in who have a worker's certificate, for as long as the server that is returned is kept.

    ``host`` is this node's own address, the only one that listens.
    """
    if not port_is_free(port):
        raise GaudiError(f"gaudi_tune_port {port} is in use on this node; choose another port, or stop what uses it.")
    # One thread: SQLite has one writer at a time, and a study has few writes.
    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    api_pb2_grpc.add_StorageServiceServicer_to_server(OptunaStorageProxyService(storage), server)
    shown = [(credentials.key, credentials.certificate)]
    demanded = grpc.ssl_server_credentials(shown, credentials.authority, require_client_auth=True)
    server.add_secure_port(place(_listening(host), port), demanded)
    server.start()
    return server


def place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listening(host: str) -> str:
    """The address of this node that ``host`` is; all of them where it is none, or is translated on the way.

    Some systems' own name is 127.0.1.1 to themselves, which no other node reaches.
    """
    try:
        family, kind, _protocol, _name, target = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        address = str(target[0])
        with socket.socket(family, kind) as probe:
            probe.bind(target)
    except OSError:
        return "::" if socket.has_dualstack_ipv6() else "0.0.0.0"
    is_own_name = address != host and ipaddress.ip_address(address).is_loopback and host != "localhost"
    return "0.0.0.0" if is_own_name else address
