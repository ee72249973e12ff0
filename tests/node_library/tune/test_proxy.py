# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who gets to a study that is kept on a node, and who does not."""

from __future__ import annotations

import os
import pwd
import socket
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import grpc
import optuna
import pytest
from optuna.storages import GrpcStorageProxy

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.tune.commands import tune
from gaudi3_scale.tune.credentials import FILES, WORKER, WORKER_KEY, Credentials, make_credentials, read_credentials
from gaudi3_scale.tune.proxy import StudyProxy, start_server
from gaudi3_scale.tune.storage import file_url, open_storage, serve

SPACE = {"batch_size": optuna.distributions.IntDistribution(8, 64)}


@pytest.fixture
def kept(tmp_path):
    """A study with one trial, kept by a node: its directory, its port, and a worker's way to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    make_credentials(tmp_path, "127.0.0.1", 3600)
    where = f"grpc://127.0.0.1:{port}"
    server = serve(tmp_path / "study.db", where, tmp_path)
    study = optuna.create_study(
        storage=open_storage(where, tmp_path, patience=20), study_name="s", direction="maximize"
    )
    study.add_trial(optuna.trial.create_trial(params={"batch_size": 8}, distributions=SPACE, value=1.0))
    yield SimpleNamespace(directory=tmp_path, port=port, where=where)
    server.stop(None)


def trials(kept):
    """What the file has, past any server."""
    return optuna.load_study(study_name="s", storage=file_url(kept.directory / "study.db")).trials


class Stranger(GrpcStorageProxy):
    """Optuna's own client over a channel of the attacker's choice, who does not wait."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._given = channel
        super().__init__()

    def _setup(self) -> None:
        from optuna.storages._grpc.auto_generated import api_pb2_grpc
        from optuna.storages._grpc.client import GrpcClientCache

        self._stub = api_pb2_grpc.StorageServiceStub(self._given)
        self._cache = GrpcClientCache(self._stub)


def forged(directory: Path) -> Credentials:
    """Of an authority of the attacker's own."""
    directory.mkdir()
    make_credentials(directory, "127.0.0.1", 3600)
    return read_credentials(directory, WORKER, WORKER_KEY)


def channel_of(kind: str, kept) -> grpc.Channel:
    place, authority = f"127.0.0.1:{kept.port}", (kept.directory / "authority.pem").read_bytes()
    if kind == "no TLS":
        return grpc.insecure_channel(place)
    if kind == "no certificate":
        return grpc.secure_channel(place, grpc.ssl_channel_credentials(authority))
    other = forged(kept.directory / "forged")
    return grpc.secure_channel(place, grpc.ssl_channel_credentials(authority, other.key, other.certificate))


@pytest.mark.parametrize("kind", ["no TLS", "no certificate", "a certificate of its own"])
def test_a_stranger_neither_reads_nor_adds_a_trial(kept, kind):
    with channel_of(kind, kept) as channel:
        stranger = Stranger(channel)
        for attempt in (
            lambda: stranger.get_all_studies(),
            lambda: stranger.get_study_id_from_name("s"),
            lambda: stranger.get_all_trials(1),
            lambda: stranger.create_new_trial(1, trials(kept)[0]),
            lambda: stranger.set_study_user_attr(1, "node:n9", {"state": "working", "why": "", "beat": 1}),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                attempt()
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    assert len(trials(kept)) == 1


def test_a_worker_adds_a_trial(kept):
    study = optuna.load_study(study_name="s", storage=open_storage(kept.where, kept.directory, patience=20))
    study.add_trial(optuna.trial.create_trial(params={"batch_size": 16}, distributions=SPACE, value=2.0))
    assert [trial.params["batch_size"] for trial in trials(kept)] == [8, 16]


def test_it_listens_on_no_other_address(kept):
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", kept.port), timeout=5).close()


def test_a_worker_is_not_believed_to_keep_the_study(tmp_path):
    """Who has a worker's certificate alone, as each node has, cannot take the keeper's place."""
    make_credentials(tmp_path, "127.0.0.1", 3600)
    worker = read_credentials(tmp_path, WORKER, WORKER_KEY)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start_server(optuna.storages.InMemoryStorage(), "127.0.0.1", port, worker)
    with pytest.raises(ConnectionError, match="another study's certificate"):
        StudyProxy("127.0.0.1", port, worker).wait_server_ready(3)
    server.stop(None)


def test_a_proxy_is_not_asked_without_certificates():
    with pytest.raises(GaudiError, match=r"grpc://127\.0\.0\.1 is a proxy without certificates; name the database"):
        open_storage("grpc://127.0.0.1:1")


def test_the_certificates_are_made_once_and_again_for_another_address(tmp_path):
    assert make_credentials(tmp_path, "192.0.2.1", 3600)
    first = {name: (tmp_path / name).read_bytes() for name in FILES}
    assert not make_credentials(tmp_path, "192.0.2.1", 7200)
    assert first == {name: (tmp_path / name).read_bytes() for name in FILES}
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in FILES} == {0o600}
    # Nothing is left that signs another one.
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert make_credentials(tmp_path, "node1.example", 3600)
    assert make_credentials(tmp_path, "node1.example", 30 * 86400)
    assert not make_credentials(tmp_path, "node1.example", 30 * 86400)
    (tmp_path / "worker.pem").write_bytes(first["worker.pem"])
    assert make_credentials(tmp_path, "node1.example", 3600)


def test_they_end_soon_after_the_study(tmp_path):
    make_credentials(tmp_path, "192.0.2.1", 86400)
    for days, ends in ((7, 0), (10, 1)):
        command = ["openssl", "x509", "-noout", "-checkend", str(days * 86400), "-in", tmp_path / "worker.pem"]
        assert subprocess.run(command, capture_output=True, check=False).returncode == ends


@pytest.mark.parametrize("address", ["", "a\n[worker]", "$HOME", "a,DNS:b"])
def test_an_address_that_is_none_is_refused(tmp_path, address):
    with pytest.raises(GaudiError, match="is neither an address nor a host's name; correct the inventory"):
        make_credentials(tmp_path, address, 3600)


def test_a_system_without_openssl_is_told_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GaudiError, match=r"openssl cannot make .* \(openssl: not installed\); install the package"):
        make_credentials(tmp_path, "192.0.2.1", 3600)


def test_the_command_makes_them_for_the_studys_account_alone(tmp_path, capsys):
    # Only root gives a file to another account.
    account = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    words = ["--directory", str(tmp_path), "--address", "192.0.2.1", "--seconds", "7200", "--owner", account.pw_name]
    tune(["credentials", *words])
    tune(["credentials", *words])
    assert capsys.readouterr().out == "made\n"
    assert {(tmp_path / name).stat().st_uid for name in FILES} == {account.pw_uid}
