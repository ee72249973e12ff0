# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""MLflow's registry as a copy of ours: with a server that answers as it does, and with the real one where it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._model.aliases import read_alias
from ansible_collections.gaudi3.scale.plugins.module_utils._model.registry import open_store
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import ModelOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process

# `pip install mlflow` somewhere, and its program on the path.
MLFLOW = shutil.which("mlflow")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture
def options(exported, tmp_path):
    registry, key = str(tmp_path / "registry"), str(tmp_path / "key.pem")
    return ModelOptions(registry, "llama", path=str(exported), signing_key=key, alias="candidate")


def test_a_server_that_is_down_is_a_warning_and_the_registry_has_it_all(options):
    told = converge(replace(options, mlflow=f"http://127.0.0.1:{free_port()}"), run_process, False)
    assert (told["new"], told["moved"]) == (True, True)
    (warning,) = told["warnings"]
    assert warning.startswith(f"MLflow does not show llama {told['version'][:12]} (ConnectionRefusedError: ")
    assert warning.endswith("; run it again when it answers.")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mlflow": "sqlite:///x"}, r"^mlflow 'sqlite:///x' is not the URL of a tracking server; give one with http"),
        ({"mlflow": "http://h", "alias": "latest"}, r"^alias 'latest' cannot be set in MLflow; "),
        ({"mlflow": "http://h", "alias": "v1"}, r"^alias 'v1' cannot be set in MLflow; "),
        ({"mlflow": "http://h", "alias": "a.b"}, r"^alias 'a\.b' cannot be set in MLflow; "),
        ({"mlflow_token_file": "/x"}, r"^mlflow_token_file is set without mlflow; "),
        ({"mlflow": "http://h", "mlflow_token_file": "/not/there"}, r"^mlflow_token_file /not/there cannot be read \("),
        ({"mlflow": "http://h", "mlflow_token_file": "/dev/null"}, r"^mlflow_token_file /dev/null cannot be read \("),
    ],
)
def test_what_mlflow_cannot_take_is_refused_before_anything_is_written(options, given, sentence, tmp_path):
    with pytest.raises(GaudiError, match=sentence):
        converge(replace(options, **given), run_process, False)
    assert not (tmp_path / "registry").exists()


@pytest.fixture
def server(tmp_path):
    """MLflow's server on SQLite."""
    port = free_port()
    command = [MLFLOW, "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    places = ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db", "--artifacts-destination", str(tmp_path / "a")]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *places],
            stdout=log,
            stderr=log,
            start_new_session=True,
            # Those that evaluate models: six processes more, each with all of MLflow.
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                break
        except OSError:
            time.sleep(0.3)
    yield f"http://127.0.0.1:{port}"
    os.killpg(process.pid, signal.SIGKILL)


def shown(server, alias):
    query = f"{server}/api/2.0/mlflow/registered-models/alias?name=llama&alias={alias}"
    with urllib.request.urlopen(query, timeout=20) as answer:
        version = json.load(answer)["model_version"]
    return {tag["key"]: tag["value"] for tag in version["tags"]}["gaudi3_scale.version"], version["source"]


@pytest.mark.skipif(MLFLOW is None, reason="no program mlflow here")
@pytest.mark.in_turn
def test_real_mlflow_shows_version_and_alias_whoever_moves_it(options, exported, server):
    options = replace(options, mlflow=server)
    first = converge(options, run_process, False)
    assert first["warnings"] == []
    assert shown(server, "candidate") == (first["version"], f"gaudi3-scale:{first['path']}")
    assert converge(options, run_process, False)["warnings"] == []
    versions = [first["version"]]
    for number in range(3):
        (exported / "config.json").write_text(str(number))
        versions.append(converge(replace(options, alias=""), run_process, False)["version"])

    def move(number):
        wanted = replace(options, path="", version=versions[number % 4], alias="production")
        try:
            return converge(wanted, run_process, False)["warnings"]
        except GaudiError as error:
            assert "was moved meanwhile" in str(error)
            return []

    with ThreadPoolExecutor(8) as movers:
        assert not any(movers.map(move, range(24)))
    ours = read_alias(open_store(options.registry), "llama", "production").version
    assert shown(server, "production")[0] == ours
