# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress

import pytest

import mlflow_stub
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._model.mlflow_rest import ServerDownError, ServerRefusedError
from gaudi3_scale.metrics import mlflow_logger
from gaudi3_scale.metrics.mlflow_logger import DIRECTORY, MlflowLogger, main, send, send_finished
from gaudi3_scale.metrics.mlflow_server import SPOOL_TAG, MlflowServer, server_of
from gaudi3_scale.metrics.spool import Reader, earlier
from mlflow_stub import MlflowStub

MLFLOW = shutil.which("mlflow")
SECOND = 1.0


@pytest.fixture
def stub(monkeypatch):
    found = MlflowStub()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", found.url)
    yield found
    found.close()


@pytest.fixture
def impatient(monkeypatch):
    """Sends more often than a real run does."""
    monkeypatch.setattr(mlflow_logger, "PAUSE_S", 0.05)
    monkeypatch.setattr(mlflow_logger, "LONGEST_PAUSE_S", 0.2)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def steps_of(stub, run="run0", key="loss"):
    return sorted(dict(point)["step"] for point in stub.points[run] if dict(point)["key"] == key)


def logger_of(tmp_path, url, timeout=10.0):
    return MlflowLogger(tmp_path, "llama", MlflowServer({"MLFLOW_TRACKING_URI": url}, timeout))


def test_all_points_are_there_once_and_the_file_is_gone(stub, tmp_path, impatient):
    logger = logger_of(tmp_path, stub.url)
    for step in range(1, 1201):
        logger.log({"loss": 1 / step, "seconds/forward": 0.1}, step)
    assert logger.close()
    assert steps_of(stub) == steps_of(stub, key="seconds/forward") == list(range(1, 1201))
    assert stub.runs["run0"]["status"] == "FINISHED"
    assert stub.runs["run0"]["run_name"] == "llama"
    assert list((tmp_path / DIRECTORY).iterdir()) == []


@pytest.mark.parametrize("mood", [mlflow_stub.HANGS, mlflow_stub.FAILS, mlflow_stub.SLOW, mlflow_stub.DRIPS, "down"])
def test_a_server_in_trouble_costs_no_step_no_second_at_the_end_and_no_point(stub, tmp_path, capsys, mood):
    url = f"http://127.0.0.1:{free_port()}" if mood == "down" else stub.url
    stub.mood = mood
    begun = time.monotonic()
    logger = logger_of(tmp_path, url)
    for step in range(1, 2001):
        logger.log({"loss": 1 / step, "tokens_per_second": 5.0}, step)
    of_steps = time.monotonic() - begun
    ending = time.monotonic()
    closed = logger.close()
    # 0.1 ms of a step, on a machine that others use as well; and the end within 5 s.
    assert of_steps < 2000 * 0.001
    assert time.monotonic() - ending < mlflow_logger.PATIENCE_S + SECOND
    if not closed:
        assert f"python -m gaudi3_scale.metrics.mlflow_logger {tmp_path}" in capsys.readouterr().err
    stub.mood = mlflow_stub.WELL
    sent_later(tmp_path, stub.url)
    assert steps_of(stub) == list(range(1, 2001))
    assert list(stub.runs) == ["run0"]
    assert stub.runs["run0"]["status"] == "FINISHED"


def sent_later(tmp_path, url):
    """As the next start of the job, another process, sends it; the thread of this one ends before."""
    server = MlflowServer({"MLFLOW_TRACKING_URI": url})
    deadline = time.monotonic() + 30
    for path in earlier(tmp_path / DIRECTORY):
        while path.exists() and time.monotonic() < deadline:
            with suppress(ServerDownError):
                if send_finished(path, server):
                    break
            time.sleep(0.1)
    assert list((tmp_path / DIRECTORY).glob("*.jsonl")) == []


def test_what_the_server_kept_without_an_answer_is_there_once(stub, tmp_path, impatient):
    stub.mood = mlflow_stub.KEEPS_AND_CUTS
    logger = logger_of(tmp_path, stub.url)
    logger.log({"loss": 1.0}, 1)
    time.sleep(0.5)
    stub.mood = mlflow_stub.WELL
    time.sleep(0.5)
    stub.mood = mlflow_stub.KEEPS_AND_CUTS
    logger.log({"loss": 0.5}, 2)
    time.sleep(0.5)
    stub.mood = mlflow_stub.WELL
    assert logger.close()
    assert list(stub.runs) == ["run0"]
    assert steps_of(stub) == [1, 2]


def test_a_server_that_comes_back_gets_everything_while_the_job_runs(stub, tmp_path, impatient):
    stub.mood = mlflow_stub.FAILS
    logger = logger_of(tmp_path, stub.url)
    for step in range(1, 50):
        logger.log({"loss": 1.0}, step)
    time.sleep(0.3)
    stub.mood = mlflow_stub.WELL
    deadline = time.monotonic() + 20
    while len(stub.points.get("run0", ())) < 49 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert steps_of(stub) == list(range(1, 50))
    assert logger.close()


def test_the_next_start_sends_what_the_last_one_left(stub, tmp_path, impatient, monkeypatch):
    monkeypatch.setattr(mlflow_logger, "PATIENCE_S", 0.3)
    first = logger_of(tmp_path, f"http://127.0.0.1:{free_port()}")
    first.log({"loss": 2.0}, 1)
    assert not first.close("FAILED")
    second = logger_of(tmp_path, stub.url)
    second.log({"loss": 1.0}, 2)
    time.sleep(0.5)
    assert second.close()
    assert [(run["status"], steps_of(stub, id_)) for id_, run in stub.runs.items()] == [
        ("FAILED", [1]),
        ("FINISHED", [2]),
    ]
    assert list((tmp_path / DIRECTORY).iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from gaudi3_scale.metrics.mlflow_logger import MlflowLogger
from gaudi3_scale.metrics.mlflow_server import MlflowServer
logger = MlflowLogger(Path(sys.argv[1]), "llama", MlflowServer({"MLFLOW_TRACKING_URI": sys.argv[2]}))
for step in range(1, 501):
    logger.log({"loss": 1.0}, step)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_s_points_are_sent_by_hand(stub, tmp_path, capsys):
    url = f"http://127.0.0.1:{free_port()}"
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), url], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 of 1 runs are sent; those that still run send their own points.\n"
    assert steps_of(stub) == list(range(1, 501))
    assert stub.runs["run0"]["status"] == "FAILED"
    assert main([str(tmp_path)]) == 0


def test_a_run_that_still_writes_is_left_to_itself(stub, tmp_path, capsys):
    logger = logger_of(tmp_path, f"http://127.0.0.1:{free_port()}")
    logger.log({"loss": 1.0}, 1)
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("0 of 1 runs are sent")
    assert stub.runs == {}
    logger.close()


ENDS = """
import sys
from pathlib import Path
from gaudi3_scale.metrics.mlflow_logger import MlflowLogger
from gaudi3_scale.metrics.mlflow_server import MlflowServer
logger = MlflowLogger(Path(sys.argv[1]), "llama", MlflowServer({"MLFLOW_TRACKING_URI": sys.argv[2]}))
logger.log({"loss": 1.0}, 1)
logger.close()
"""


@pytest.mark.parametrize("mood", [mlflow_stub.HANGS, mlflow_stub.DRIPS])
def test_the_process_ends_whatever_the_thread_waits_for(stub, tmp_path, mood):
    stub.mood = mood
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", ENDS, str(tmp_path), stub.url], check=True, timeout=60)
    whole = time.monotonic() - begun
    assert whole < mlflow_logger.PATIENCE_S + 3 * SECOND


def test_a_server_that_refuses_is_told_once_and_nothing_is_lost(stub, tmp_path, capsys, impatient, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "f00ba4")
    stub.mood = mlflow_stub.REFUSES
    logger = MlflowLogger(tmp_path, "llama", server_of(os.environ))
    logger.log({"loss": 1.0}, 1)
    time.sleep(0.5)
    assert not logger.close()
    reported = capsys.readouterr().err
    assert "gaudi3_scale: mlflow gets no more points in this run: PERMISSION_DENIED: no\n" in reported
    assert "f00ba4" not in reported
    assert {given for _path, given in stub.requests} == {"Bearer f00ba4"}
    assert main([str(tmp_path)]) == 1
    stub.mood = mlflow_stub.WELL
    assert main([str(tmp_path)]) == 0
    assert steps_of(stub) == [1]


def test_a_full_disk_leaves_it_out_and_the_job_goes_on(stub, tmp_path, capsys):
    (tmp_path / DIRECTORY).write_text("")
    logger = logger_of(tmp_path, stub.url)
    logger.log({"loss": 1.0}, 1)
    assert not logger.close()
    assert "mlflow is left out from here on: its points cannot be kept (" in capsys.readouterr().err


def test_numbers_that_are_none_are_sent_by_name(stub, tmp_path, impatient):
    logger = logger_of(tmp_path, stub.url)
    logger.log({"loss": float("nan"), "lr": float("inf")}, 1)
    assert logger.close()
    assert {dict(point)["value"] for point in stub.points["run0"]} == {"NaN", "Infinity"}


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, r"^MLFLOW_TRACKING_URI is not set; set it for the job"),
        ({"MLFLOW_TRACKING_URI": "file:///tmp/runs"}, r"^MLFLOW_TRACKING_URI is not the URL of a tracking server"),
        ({"MLFLOW_TRACKING_URI": "http://"}, r"^MLFLOW_TRACKING_URI is not the URL"),
        ({"MLFLOW_TRACKING_URI": "http://me:f00@h"}, r"^MLFLOW_TRACKING_URI is not the URL of a [^0@]*$"),
        ({"MLFLOW_TRACKING_URI": "http://h:x"}, r"^MLFLOW_TRACKING_URI is not the URL"),
        (
            {"MLFLOW_TRACKING_URI": "https://h", "MLFLOW_TRACKING_SERVER_CERT_PATH": "/not/there"},
            r"^MLFLOW_TRACKING_SERVER_CERT_PATH cannot be read \(No such file or directory\)\.$",
        ),
    ],
)
def test_a_server_that_cannot_be_meant_is_refused(environment, sentence):
    with pytest.raises(GaudiError, match=sentence):
        server_of(environment)


def test_a_token_goes_to_no_other_server(stub, tmp_path):
    class Redirects(MlflowStub):
        def answer(self, request):
            request.send_response(307)
            request.send_header("Location", stub.url + request.path)
            request.send_header("Content-Length", "0")
            request.end_headers()

    first = Redirects()
    server = MlflowServer({"MLFLOW_TRACKING_URI": first.url, "MLFLOW_TRACKING_TOKEN": "f00ba4"})
    with pytest.raises(ServerRefusedError, match="307"):
        server.run_of("s", "llama", 0)
    assert stub.requests == []
    first.close()


def test_the_trainer_sends_its_curve_and_ends_in_time(train_here, stub, tmp_path):
    lines = train_here("--max-steps", 6, "--metrics-every", 1, "--loggers", "mlflow")
    reported = {line["step"]: line["loss"] for line in lines if line["kind"] == "step"}
    sent = {dict(point)["step"]: dict(point)["value"] for point in stub.points["run0"] if dict(point)["key"] == "loss"}
    assert sent == pytest.approx(reported)
    assert stub.runs["run0"]["status"] == "FINISHED"


# With the real server: `pip install mlflow` somewhere, and its program on the path.
needs_mlflow = pytest.mark.skipif(MLFLOW is None, reason="no program mlflow here")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """MLflow's server on SQLite, and a function that starts it again. A start takes many seconds."""
    tmp_path = tmp_path_factory.mktemp("mlflow")
    port = free_port()
    started = []

    def start():
        command = [MLFLOW, "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        places = [
            "--backend-store-uri",
            f"sqlite:///{tmp_path}/mlflow.db",
            "--artifacts-destination",
            str(tmp_path / "a"),
        ]
        with (tmp_path / "server.log").open("ab") as log:
            # Those that evaluate models: six processes more, each with all of MLflow.
            without_jobs = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
            started.append(
                subprocess.Popen([*command, *places], stdout=log, stderr=log, start_new_session=True, env=without_jobs)
            )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                    return started[-1]
            except OSError:
                time.sleep(0.3)
        raise AssertionError((tmp_path / "server.log").read_text())

    start()
    yield f"http://127.0.0.1:{port}", started, start
    for process in started:
        kill(process, signal.SIGKILL)


def kill(process, by):
    try:
        os.killpg(process.pid, by)
    except ProcessLookupError:
        return


def history(url, run, key="loss"):
    query = f"{url}/api/2.0/mlflow/metrics/get-history?run_id={run}&metric_key={key}&max_results=25000"
    with urllib.request.urlopen(query, timeout=20) as answer:
        return [int(metric["step"]) for metric in json.load(answer).get("metrics", [])]


def runs_of(url):
    body = json.dumps({"experiment_ids": ["1"], "max_results": 100}).encode()
    request = urllib.request.Request(f"{url}/api/2.0/mlflow/runs/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return {run["info"]["run_id"]: run["info"]["status"] for run in json.load(answer).get("runs", [])}


def late_run(url, spool):
    """What a server makes of a request that nobody waits for any more."""
    tags = [{"key": SPOOL_TAG, "value": spool}]
    body = json.dumps({"experiment_id": "1", "run_name": "llama", "tags": tags}).encode()
    request = urllib.request.Request(f"{url}/api/2.0/mlflow/runs/create", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["run"]["info"]["run_id"]


@pytest.mark.in_turn
@needs_mlflow
def test_real_mlflow_keeps_a_batch_and_a_run_once(real, tmp_path):
    url, _started, _start = real
    server = MlflowServer({"MLFLOW_TRACKING_URI": url})
    run = server.run_of("spool", "llama", 1000)
    assert server.run_of("spool", "llama", 1000) == run
    batch = [{"key": "loss", "value": 1.0, "timestamp": 1000 + step, "step": step} for step in range(1500)]
    for _time in range(2):
        server.log(run, batch)
    server.log(run, [{"key": "lr", "value": "NaN", "timestamp": 1, "step": 1}])
    assert sorted(history(url, run)) == list(range(1500))
    twin = late_run(url, "spool")
    assert set(runs_of(url)) == {run, twin}
    server.end(run, "spool", "FINISHED", 2000)
    assert runs_of(url) == {run: "FINISHED"}


@pytest.mark.in_turn
@needs_mlflow
def test_real_mlflow_killed_and_stopped_in_the_middle_gets_every_point_once(real, tmp_path, impatient):
    url, started, start = real
    earlier_runs = runs_of(url)
    logger = MlflowLogger(tmp_path / "job", "llama", MlflowServer({"MLFLOW_TRACKING_URI": url}, timeout=2.0))
    longest = 0.0
    for step in range(1, 601):
        if step == 200:
            kill(started[-1], signal.SIGKILL)
        if step == 300:
            start()
        if step == 400:
            kill(started[-1], signal.SIGSTOP)
        begun = time.monotonic()
        logger.log({"loss": 1 / step}, step)
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.01)
    ending = time.monotonic()
    logger.close()
    assert time.monotonic() - ending < 5
    assert longest < 0.5
    kill(started[-1], signal.SIGCONT)
    # The next start is another process; the thread of this one would go on beside it.
    for thread in threading.enumerate():
        if thread.name == "mlflow logger":
            thread.join(60)
    sent_later(tmp_path / "job", url)
    (run,) = runs_of(url).keys() - earlier_runs.keys()
    assert sorted(history(url, run)) == list(range(1, 601))
    assert runs_of(url)[run] == "FINISHED"


def test_a_reader_goes_on_where_the_last_one_was(stub, tmp_path):
    path = tmp_path / "x.jsonl"
    lines = [{"job": "llama", "time": 1}, *({"step": step, "time": step, "values": {"loss": 1.0}} for step in (1, 2))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 3, "ti')
    server = MlflowServer({"MLFLOW_TRACKING_URI": stub.url})
    assert not send(Reader(path), server)
    assert Reader(path).unsent() == 0
    assert steps_of(stub) == [1, 2]
    with path.open("a") as stream:
        stream.write('me": 3, "values": {"loss": 0.5}}\n')
    assert not send(Reader(path), server)
    assert steps_of(stub) == [1, 2, 3]
    assert [name for name, _given in stub.requests].count("runs/create") == 1


def test_an_answer_that_is_none_of_mlflow_s_is_refused(tmp_path):
    class Page(MlflowStub):
        def answer(self, request):
            request.send_response(200)
            request.send_header("Content-Length", "6")
            request.end_headers()
            request.wfile.write(b"<html>")

    page = Page()
    with pytest.raises(ServerRefusedError, match=r"^its answer is none of MLflow's \("):
        MlflowServer({"MLFLOW_TRACKING_URI": page.url}).run_of("s", "llama", 0)
    page.close()
    with pytest.raises(ServerDownError, match="ConnectionRefusedError"):
        MlflowServer({"MLFLOW_TRACKING_URI": page.url}).run_of("s", "llama", 0)
