# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program as the machine has it, one file that Python runs, with the real boto3 against moto's real server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.files import MODULE, options_text
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import Source, Target
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.program import main
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.archive import archive_of

from tests.unit.cloudwatch_services import ACCOUNT, CREDENTIALS, REGION, Moto, Prometheus, Silent, refusing

METRICS = ("up", "gaudi_card_temperature_celsius", "gaudi_job_loss")


@pytest.fixture(scope="module")
def server() -> Iterator[Moto]:
    moto = Moto()
    yield moto
    moto.close()


@pytest.fixture
def moto(server: Moto) -> Moto:
    server.reset()
    return server


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    found = Prometheus(tmp_path / "monitoring", [({"__name__": "up", "instance": "n1", "job": "gaudi"}, "1")])
    yield found
    found.close()


@dataclass
class Ended:
    returncode: int
    stderr: str

    @property
    def said(self) -> str:
        """One sentence and nothing else."""
        assert self.stderr.count("\n") == 1 and "Traceback" not in self.stderr, self.stderr
        return self.stderr.strip()


@dataclass
class Program:
    """Runs once; ``as_installed`` is as its unit does it, in a process of its own."""

    place: Path
    source: Source
    target: Target
    capture: pytest.CaptureFixture[str]

    @property
    def file(self) -> Path:
        return self.place / "cloudwatch.pyz"

    def run(self, **changed: Any) -> Ended:
        status = main([str(self.options(**changed))])
        said = self.capture.readouterr()
        assert said.out == ""
        return Ended(status, said.err)

    def as_installed(self, **changed: Any) -> Ended:
        self.file.write_bytes(archive_of(MODULE))
        return ended([sys.executable, "-I", "-W", "ignore", str(self.file), str(self.options(**changed))])

    def options(self, **changed: Any) -> Path:
        path = self.place / "options.json"
        path.write_text(options_text(replace(self.target, **changed), self.source))
        return path


def ended(command: list[str]) -> Ended:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == ""
    return Ended(done.returncode, done.stderr)


@pytest.fixture
def program(
    tmp_path: Path,
    prometheus: Prometheus,
    moto: Moto,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Program:
    for name, value in {**CREDENTIALS, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")}.items():
        monkeypatch.setenv(name, value)
    source = Source("127.0.0.1", prometheus.port, str(prometheus.directory))
    target = Target(REGION, metrics=METRICS, endpoint=moto.url, sts_endpoint=moto.url)
    return Program(tmp_path, source, target, capsys)


@pytest.fixture
def without_keys(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    return program


def metrics(moto: Moto) -> dict[str, list[dict[str, str]]]:
    """Name -> the dimensions of each of its series."""
    found: dict[str, list[dict[str, str]]] = {}
    for page in moto.client.get_paginator("list_metrics").paginate(Namespace="Gaudi"):
        for one in page["Metrics"]:
            found.setdefault(one["MetricName"], []).append({d["Name"]: d["Value"] for d in one["Dimensions"]})
    return found


def test_values_arrive_with_what_their_labels_say(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    card = {"__name__": "gaudi_card_temperature_celsius", "instance": "n1", "card": "3", "job": "gaudi"}
    prometheus.series.append((card, "61.5"))
    done = program.as_installed()
    assert (done.returncode, done.stderr) == (0, "")
    assert metrics(moto) == {"up": [{"node": "n1"}], "gaudi_card_temperature_celsius": [{"node": "n1", "card": "3"}]}
    now = datetime.now(timezone.utc)
    (point,) = moto.client.get_metric_statistics(
        Namespace="Gaudi",
        MetricName="gaudi_card_temperature_celsius",
        Dimensions=[{"Name": "card", "Value": "3"}, {"Name": "node", "Value": "n1"}],
        StartTime=now - timedelta(minutes=5),
        EndTime=now + timedelta(minutes=5),
        Period=60,
        Statistics=["Maximum", "SampleCount"],
    )["Datapoints"]
    assert (point["Maximum"], point["SampleCount"]) == (61.5, 1)


def test_more_than_a_call_takes_is_sent_in_several(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    prometheus.series = [({"__name__": "up", "instance": f"n{number:04}"}, "1") for number in range(2500)]
    assert program.run(most=3000).returncode == 0
    assert moto.requests == 3
    assert len(metrics(moto)["up"]) == 2500


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e300"])
def test_what_cloudwatch_refuses_is_left_out_and_the_rest_arrives(
    program: Program, prometheus: Prometheus, moto: Moto, value: str
) -> None:
    prometheus.series.append(({"__name__": "gaudi_job_loss", "training": "t"}, value))
    done = program.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert {*metrics(moto)} == {"up"}


def test_too_many_labels_are_named(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    labels = {f"l{number}": "x" for number in range(31)}
    prometheus.series.append(({"__name__": "gaudi_job_loss", **labels}, "1"))
    done = program.run()
    assert done.returncode == 0
    assert done.said == "gaudi_job_loss: values with more than 30 labels were left out."
    assert {*metrics(moto)} == {"up"}


def test_more_series_than_the_limit_send_nothing_and_are_not_even_fetched(
    program: Program, prometheus: Prometheus, moto: Moto
) -> None:
    prometheus.series = [({"__name__": "up", "instance": f"n{number}"}, "1") for number in range(11)]
    done = program.run(most=10)
    assert done.returncode == 1
    assert done.said == ("metrics come to 11 series (up 11), and most is 10; raise most, or give fewer metrics.")
    assert (moto.requests, len(prometheus.questions)) == (0, 1)


def test_of_the_account_that_was_meant_values_arrive(program: Program, moto: Moto) -> None:
    assert program.run(account=ACCOUNT).returncode == 0
    assert {*metrics(moto)} == {"up"}


def test_credentials_of_another_account_send_nothing(program: Program, moto: Moto) -> None:
    done = program.run(account="999999999999")
    assert done.returncode == 1
    assert done.said.startswith(f"the credentials are those of account {ACCOUNT} and not of 999999999999, so nothing")
    assert metrics(moto) == {}


def test_who_may_not_send_is_told(program: Program) -> None:
    with refusing("AccessDenied") as url:
        done = program.run(endpoint=url)
    assert done.returncode == 1
    assert done.said == (
        "CloudWatch in eu-central-1 refuses the call (AccessDenied: User is not authorized to perform: "
        "cloudwatch:PutMetricData); allow the credentials cloudwatch:PutMetricData."
    )


def test_credentials_that_nobody_knows_are_told(program: Program) -> None:
    """By moto itself, where it asks who calls."""
    strict = Moto(enforced=True)
    try:
        done = program.run(endpoint=strict.url)
    finally:
        strict.close()
    assert done.returncode == 1
    assert "CloudWatch in eu-central-1 refuses the call (" in done.said
    assert "credentials" in done.said


def test_without_credentials_it_says_where_they_are_looked_for(without_keys: Program, moto: Moto) -> None:
    done = without_keys.run()
    assert done.returncode == 1
    assert done.said.startswith(
        "boto3 finds no credentials for CloudWatch in eu-central-1; give the machine an IAM role"
    )
    assert moto.requests == 0


def test_credentials_in_the_operator_s_file_are_found(without_keys: Program, moto: Moto) -> None:
    text = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n"
    (without_keys.place / "credentials").write_text(text)
    assert without_keys.run().returncode == 0
    assert {*metrics(moto)} == {"up"}


@pytest.mark.in_turn
@pytest.mark.parametrize("trickles", [False, True], ids=["says nothing", "says a letter a second"])
def test_a_cloudwatch_that_never_answers_is_left_alone_in_time(program: Program, trickles: bool) -> None:
    silent = Silent(trickles)
    try:
        began = time.monotonic()
        done = program.as_installed(endpoint=silent.url, interval=10)
        assert time.monotonic() - began < 20
        assert done.returncode == 1
        late = "not all values were sent within 10 s; check the connection to CloudWatch, or give fewer metrics."
        # Which of the two limits is met first, where both are ten seconds, is nobody's business.
        assert done.said == late or (not trickles and "does not answer (ReadTimeoutError" in done.said)
        assert len(silent.connections) == 1
    finally:
        silent.close()
    mine = str(program.file).encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if mine in _read(path)]


def test_what_was_sent_before_a_failure_is_told(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    """A name that CloudWatch itself refuses, in the second call."""
    prometheus.series = [({"__name__": "up", "instance": f"n{number:04}"}, "1") for number in range(1000)]
    prometheus.series.append(({"__name__": "", "instance": "n"}, "1"))
    done = program.run(most=3000)
    assert done.returncode == 1
    assert done.said.endswith("; 1000 of 1001 values were sent before.")


def test_nobody_there(program: Program) -> None:
    done = program.run(endpoint="http://127.0.0.1:9")
    assert done.returncode == 1
    assert done.said.startswith("CloudWatch in eu-central-1 does not respond (EndpointConnectionError")


def test_a_prometheus_that_is_off_or_still_starts(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    prometheus.status = 503
    done = program.run()
    assert (done.returncode, moto.requests) == (1, 0)
    assert done.said == (
        f"Prometheus at 127.0.0.1:{prometheus.port} does not respond yet; if this persists, check its unit."
    )
    prometheus.close()
    done = program.run()
    assert done.returncode == 1
    assert done.said.startswith(f"Prometheus at 127.0.0.1:{prometheus.port} does not respond (")


def test_a_prometheus_with_another_certificate_is_not_believed(
    program: Program, prometheus: Prometheus, tmp_path: Path, moto: Moto
) -> None:
    other = Prometheus(tmp_path / "other")
    other.close()
    program.source = replace(program.source, directory=str(other.directory))
    done = program.run()
    assert (done.returncode, moto.requests) == (1, 0)
    assert "CERTIFICATE_VERIFY_FAILED" in done.said


def test_no_series_at_all_is_a_failure(program: Program, prometheus: Prometheus, moto: Moto) -> None:
    prometheus.series = []
    done = program.run()
    assert (done.returncode, moto.requests) == (1, 0)
    assert done.said.startswith("Prometheus has none of the metrics, so nothing was sent")


@pytest.mark.parametrize("text", ["", "{}", '{"target": {"region": 1, "x": 2}, "source": {}}', "[1"])
def test_options_that_somebody_has_changed(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = tmp_path / "options.json"
    options.write_text(text)
    assert main([str(options)]) == 1
    assert Ended(1, capsys.readouterr().err).said.endswith("run the playbook monitoring.yml again.")


def test_without_boto3_it_says_what_to_install(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    done = program.run()
    assert done.returncode == 1
    assert done.said.endswith("install the distribution's python3-boto3.")


def test_the_options_have_no_secret(program: Program) -> None:
    text = options_text(program.target, program.source)
    assert json.loads(text)["target"] == {**asdict(program.target), "metrics": [*METRICS]}
    assert not {"key", "secret", "token", "password"} & {word.lower() for word in text.split('"')}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
