# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A machine that sends to CloudWatch: what is written, started and told, and what is refused before anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.files import SERVICE, TIMER
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import Options, Source, Target
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.points import Sample
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.prometheus_query import (
    Reading,
    SilentError,
    check_series,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import Identity, make

from tests.unit.module_call import call

TARGET = Target("eu-central-1", metrics=("up", "gaudi_job_loss"))
OPTIONS = Options("present", TARGET, Source("127.0.0.1", 9090))
OWN = "etc/gaudi3_scale/monitoring/cloudwatch"


@dataclass
class Machine:
    """systemd and Prometheus: ``nodes`` is how many are up there, None where it does not answer."""

    root: Path
    nodes: int | None = 2
    units: set[str] = field(default_factory=set)
    calls: list[list[str]] = field(default_factory=list)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        verb, unit = argv[1], argv[-1]
        if verb in ("is-enabled", "is-active"):
            return CommandResult(0 if unit in self.units else 1, "", "")
        self.calls.append([*argv[1:]])
        self.units = self.units - {unit} if verb == "disable" else self.units | ({unit} & {TIMER})
        return CommandResult(0, "", "")

    def ask(self, source: Source, target: Target, now: float) -> Reading:
        if self.nodes is None:
            raise SilentError("Prometheus does not answer.")
        series = {"up": self.nodes} if self.nodes else {}
        check_series(series, target.most)
        labels = ({"__name__": "up", "instance": f"n{number}"} for number in range(self.nodes))
        return Reading(series, [Sample(one, now, 1.0) for one in labels])

    def run(self, check_mode: bool = False, state: str = "present", **changed: Any) -> dict[str, Any]:
        self.calls.clear()
        target = replace(TARGET, **changed) if state == "present" else None
        return converge(Options(state, target, OPTIONS.source), self, check_mode, str(self.root), self.ask)

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    @property
    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_sends_and_a_second_run_changes_nothing(machine: Machine) -> None:
    assert machine.run()["changed"]
    assert machine.units == {TIMER}
    machine.nodes = 3
    second = machine.run()
    assert (second["changed"], second["steps"], second["diff"], machine.calls) == (False, [], [], [])


def test_check_mode_tells_all_and_touches_nothing(machine: Machine) -> None:
    foretold = machine.run(check_mode=True)
    assert (machine.files, machine.calls) == (set(), [])
    done = machine.run()
    assert (done["steps"], done["diff"]) == (foretold["steps"], foretold["diff"])


def test_the_files_are_these(machine: Machine) -> None:
    machine.run()
    assert machine.files == {
        "opt/gaudi3_scale/cloudwatch.pyz",
        f"etc/systemd/system/{SERVICE}",
        f"etc/systemd/system/{TIMER}",
        f"{OWN}/options.json",
        f"{OWN}/dashboard.json",
        f"{OWN}/alarms/gaudi_node_silent.json",
    }
    unit = machine.text(f"etc/systemd/system/{SERVICE}")
    assert "Type=oneshot" in unit and "TimeoutStartSec=90\n" in unit
    assert "AWS_SHARED_CREDENTIALS_FILE=/etc/gaudi3_scale/aws/credentials" in unit
    assert "OnUnitActiveSec=60s" in machine.text(f"etc/systemd/system/{TIMER}")


@pytest.mark.parametrize(
    ("nodes", "changed", "numbers"),
    [
        (2, {}, (2, 60, 60)),
        (400, {"interval": 300}, (400, 12, 12)),
        (2, {"account": "123456789012"}, (2, 120, 120)),
        (2500, {"most": 4001}, (2500, 180, 300)),
        (2, {"interval": 50}, (2, 72, 72)),
        (0, {}, (0, 0, 60)),
        (None, {}, (None, None, 60)),
    ],
)
def test_the_calls_an_hour_are_told(
    machine: Machine, nodes: int | None, changed: dict[str, Any], numbers: tuple[int | None, ...]
) -> None:
    machine.nodes = nodes
    told = machine.run(check_mode=True, **changed)["cloudwatch"]
    assert (told["series"], told["calls_an_hour"], told["calls_an_hour_at_most"]) == numbers


def test_the_calls_an_hour_are_in_the_difference_and_in_a_sentence(machine: Machine) -> None:
    done = machine.run(check_mode=True)
    sentence = (
        "CloudWatch in eu-central-1 is called 60 times an hour with 2 series as they are now, and at most 60 times an "
        "hour, with 500 series."
    )
    assert done["cloudwatch"]["sentence"] == sentence
    assert done["diff"][-1] == {"prepared": f"{sentence}\n"}
    machine.nodes = None
    assert machine.run(check_mode=True)["cloudwatch"]["sentence"].endswith("; Prometheus does not respond yet.")
    machine.nodes = 0
    assert machine.run(check_mode=True)["cloudwatch"]["sentence"].endswith("; Prometheus has none of them yet.")


def test_a_metric_without_values_is_named(machine: Machine) -> None:
    assert machine.run()["cloudwatch"]["without_values"] == ["gaudi_job_loss"]


def test_an_alarm_goes_with_its_metric_and_the_site_s_own_stays(machine: Machine) -> None:
    machine.run()
    (machine.root / OWN / "alarms/site.json").write_text("{}")
    machine.run(metrics=("gaudi_card_operational",))
    alarms = sorted(path.name for path in (machine.root / OWN / "alarms").iterdir())
    assert alarms == ["gaudi_card_not_operational.json", "site.json"]


def test_taken_away_nothing_of_ours_is_left(machine: Machine) -> None:
    machine.run()
    make(Identity(str(machine.root / OWN), ("localhost",)), run_process)
    done = machine.run(state="absent")
    assert done["changed"] and done["cloudwatch"]["sentence"] == ""
    assert "certificate" in done["steps"]
    assert (machine.files, machine.units) == (set(), set())
    assert not (machine.root / OWN).exists()
    assert machine.calls[0][-1] == TIMER and ["stop", SERVICE] in machine.calls
    assert machine.run(state="absent")["steps"] == []
    assert machine.calls == []


def test_credentials_and_what_else_is_the_operator_s_stay(machine: Machine) -> None:
    credentials = machine.root / "etc/gaudi3_scale/aws/credentials"
    credentials.parent.mkdir(parents=True, mode=0o700)
    credentials.write_text("[default]\n")
    credentials.chmod(0o600)
    machine.run()
    (machine.root / OWN / "alarms/site.json").write_text("{}")
    machine.run(state="absent")
    assert machine.files == {"etc/gaudi3_scale/aws/credentials", f"{OWN}/alarms/site.json"}


def test_a_machine_that_never_sent_anything_is_left_alone(machine: Machine) -> None:
    done = machine.run(state="absent")
    assert (done["changed"], done["steps"], machine.calls, machine.files) == (False, [], [], set())


@pytest.mark.parametrize(("directory", "file"), [(0o755, 0o600), (0o700, 0o644), (0o700, 0o640)])
def test_credentials_that_others_can_read_are_refused(machine: Machine, directory: int, file: int) -> None:
    credentials = machine.root / "etc/gaudi3_scale/aws/credentials"
    credentials.parent.mkdir(parents=True)
    credentials.write_text("[default]\n")
    credentials.chmod(file)
    credentials.parent.chmod(directory)
    with pytest.raises(
        GaudiError,
        match=r"is not owned by root alone; run chown -R root .*, and renew the "
        r"credentials in it",
    ):
        machine.run()
    assert machine.calls == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"region": "Frankfurt"}, "region is 'Frankfurt', which is not an AWS region; give one such as eu-central-1"),
        ({"region": "eu-central-1\n"}, "region is"),
        ({"region": "eu-central-1.evil.example"}, "region is"),
        ({"namespace": "AWS/EC2"}, "namespace is 'AWS/EC2', but AWS/ is reserved by Amazon"),
        ({"namespace": ":x"}, "namespace is ':x'; give letters"),
        ({"namespace": "a'b"}, "namespace is"),
        ({"metrics": ()}, "metrics is empty, so there is nothing to send"),
        ({"metrics": ("up{}",)}, "metrics has 'up{}'; give the name of a metric or a recording rule"),
        ({"metrics": ("up", "up")}, "metrics has up twice"),
        ({"account": "1234"}, "account is '1234'; give the 12 digits of the account, in quotes"),
        ({"interval": 9}, "interval is 9; give 10 to 3600"),
        ({"interval": 3601}, "interval is 3601; give 10 to 3600"),
        ({"most": 0}, "most is 0; give 1 to 100000"),
        ({"endpoint": "monitoring"}, "endpoint is 'monitoring'; give https://HOST or https://HOST:PORT"),
        ({"endpoint": "https://[x"}, "endpoint is 'https://"),
        ({"endpoint": "https://host:port/"}, "endpoint is 'https://host:port/'"),
        ({"endpoint": "https://me:secret@host"}, "endpoint contains credentials"),
        ({"sts_endpoint": "http://sts.example"}, "sts_endpoint would send a session's token to sts.example over plain"),
        ({"most": 1}, r"metrics come to 2 series \(up 2\), and most is 1; raise most, or give fewer metrics"),
    ],
)
def test_what_cannot_be_meant_is_refused(machine: Machine, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        machine.run(**changed)
    assert (machine.files, machine.calls) == (set(), [])


@pytest.mark.parametrize(
    "region", ["eu-central-1", "us-gov-west-1", "cn-northwest-1", "us-iso-east-1", "eusc-de-east-1", "ap-southeast-7"]
)
def test_regions_of_amazon_are_taken(machine: Machine, region: str) -> None:
    assert machine.run(region=region)["changed"]


@pytest.mark.parametrize(
    ("address", "host"), [("127.0.0.1", "127.0.0.1"), ("10.0.0.2", "10.0.0.2"), ("0.0.0.0", "127.0.0.1"), ("::", "::1")]
)
def test_prometheus_is_asked_where_it_listens(address: str, host: str) -> None:
    assert Source(address, 9090).host == host


def test_a_key_in_the_options_is_refused_and_shown_to_nobody() -> None:
    given = {"region": "eu-central-1", "aws_secret_access_key": "what-nobody-sees"}
    result, status = call("cloudwatch_forwarder", cloudwatch=given)
    assert status == 1
    assert "aws_secret_access_key" in result["msg"]
    assert "what-nobody-sees" not in json.dumps(result)


def test_nowhere_to_send_to_is_refused() -> None:
    result, status = call("cloudwatch_forwarder")
    assert (status, result["msg"]) == (
        1,
        "cloudwatch is empty, so there is no target; give at least its region.",
    )
