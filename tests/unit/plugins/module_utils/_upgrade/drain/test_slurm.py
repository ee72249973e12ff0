# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whose drain is it: outputs of Slurm 22.05.8 (Debian 12), taken from the sandbox, as fixtures/slurm has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain.ownership import Job, is_ours, our_reason
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain.slurm import parse_jobs, parse_node
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain.state import Clock, DrainOptions, converge

FIXTURES = Path(__file__).parents[4] / "fixtures" / "slurm"
OURS = "gaudi3_scale: driver 1.24.1 #b87626"
JOB = Job("6", "operator", "llama | 70b")


def text(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


class FakeSlurm:
    """Shows the fixtures ``shown`` one after the other (the last one for ever), with the jobs of each."""

    def __init__(self, *shown: str | tuple[str, str]) -> None:
        self.shown = [(item, "") if isinstance(item, str) else item for item in shown]
        self.updates: list[list[str]] = []
        self.jobs = ""

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "squeue":
            assert {"--all", "--nodelist=node2"} <= set(argv)
            return CommandResult(0, self.jobs, "")
        if "update" in argv:
            self.updates.append(list(argv[2:]))
            return CommandResult(0, "", "")
        name, self.jobs = self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]
        return CommandResult(0, text(name), "")


class FakeClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def drain(run: FakeSlurm, state: str = "drained", check_mode: bool = False, **more: object) -> dict[str, object]:
    options = DrainOptions("node2", "slurm", state, reason="driver 1.24.1", **more)  # type: ignore[arg-type]
    clock = FakeClock()
    return converge(options, run, check_mode, Clock(lambda: clock.seconds, clock.sleep))


BUSY = text("squeue.txt")


def test_our_reason_is_known_again_by_anyone() -> None:
    assert our_reason("node2", "driver 1.24.1") == OURS
    assert is_ours("node2", OURS)


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "gaudi3_scale:",
        "gaudi3_scale: driver 1.24.1",
        OURS.replace("1.24.1", "1.24.0"),
        f"{OURS}, keep it: bob",
        f"bob: was {OURS}",
        f" {OURS}",
    ],
)
def test_a_reason_that_was_changed_is_not_ours(reason: str) -> None:
    assert not is_ours("node2", reason)


def test_a_reason_of_another_node_is_not_ours() -> None:
    assert not is_ours("node1", OURS)


def test_a_reason_is_one_line_that_slurm_keeps() -> None:
    reason = our_reason("node2", ' "new"\n firmware # 3 ')
    assert reason.startswith("gaudi3_scale: 'new' firmware # 3 #")
    assert is_ours("node2", reason)


@pytest.mark.parametrize(
    ("fixture", "state", "drained_by", "reason"),
    [
        ("idle.txt", "resumed", "nobody", ""),
        ("allocated.txt", "resumed", "nobody", ""),
        ("drained_by_us.txt", "drained", "us", OURS),
        ("drained_by_us_with_comment.txt", "drained", "us", OURS),
        ("draining.txt", "draining", "us", OURS),
        ("completing.txt", "draining", "us", OURS),
        ("down_while_ours.txt", "drained", "us", OURS),
        ("maintenance_and_our_drain.txt", "drained", "us", OURS),
        ("drained_by_other.txt", "drained", "other", "disk broken: bob"),
        ("downed_over_our_drain.txt", "drained", "other", "bob: disk is broken"),
        ("failed_by_other.txt", "drained", "other", "bob: fails"),
        ("maintenance.txt", "drained", "other", "Slurm's state IDLE+MAINTENANCE+RESERVED"),
        ("words_added_to_our_reason.txt", "drained", "other", f"{OURS}, keep it: bob"),
    ],
)
def test_what_slurm_shows_tells_whose_drain_it_is(fixture: str, state: str, drained_by: str, reason: str) -> None:
    found = parse_node("node2", text(fixture).strip(), ())
    assert (found.state, found.drained_by, found.reason) == (state, drained_by, reason)


def test_a_line_added_to_our_reason_makes_it_somebody_elses() -> None:
    found = parse_node("node2", text("line_added_to_our_reason.txt").strip(), ())
    assert found.drained_by == "other"
    assert "keep it, bob" in found.reason


def test_a_suspended_job_keeps_an_idle_node_busy() -> None:
    line = text("suspended.txt").strip()
    assert "State=IDLE+DRAIN " in line
    assert parse_node("node2", line, parse_jobs(BUSY)).state == "draining"


def test_a_job_may_have_any_name() -> None:
    assert parse_jobs(BUSY) == (JOB,)


def test_a_node_in_service_is_drained_with_our_mark_and_given_back() -> None:
    slurm = FakeSlurm("idle.txt", "drained_by_us.txt")
    result = drain(slurm)
    assert slurm.updates == [["NodeName=node2", "State=DRAIN", f"Reason={OURS}"]]
    assert {key: result[key] for key in ("state", "drained_by", "reason", "jobs", "changed")} == {
        "state": "drained",
        "drained_by": "us",
        "reason": OURS,
        "jobs": [],
        "changed": True,
    }
    slurm = FakeSlurm("drained_by_us.txt", "idle.txt")
    result = drain(slurm, "resumed")
    assert slurm.updates == [["NodeName=node2", "State=RESUME"]]
    assert (result["state"], result["drained_by"], result["changed"]) == ("resumed", "nobody", True)


def test_who_may_drain_in_slurm_needs_no_directory_of_root(tmp_path: Path) -> None:
    nobodys = tmp_path / "absent"
    drain(FakeSlurm("idle.txt", "drained_by_us.txt"), state_directory=str(nobodys))
    assert not nobodys.exists()


def test_a_drain_of_ours_for_another_purpose_stays() -> None:
    purpose = OURS.removeprefix("gaudi3_scale: ")
    slurm = FakeSlurm("drained_by_us.txt")
    result = drain(slurm, "resumed", only_reason="card firmware")
    assert (result["state"], result["drained_by"], result["changed"], slurm.updates) == ("drained", "us", False, [])
    slurm = FakeSlurm("drained_by_us.txt", "idle.txt")
    assert drain(slurm, "resumed", only_reason=purpose[:6])["state"] == "resumed"


@pytest.mark.parametrize(("state", "fixture"), [("drained", "drained_by_us.txt"), ("resumed", "allocated.txt")])
def test_a_node_that_is_as_wanted_is_left_alone(state: str, fixture: str) -> None:
    slurm = FakeSlurm(fixture)
    assert drain(slurm, state)["changed"] is False
    assert slurm.updates == []


@pytest.mark.parametrize("state", ["drained", "resumed"])
@pytest.mark.parametrize(
    "fixture",
    [
        "drained_by_other.txt",
        "downed_over_our_drain.txt",
        "failed_by_other.txt",
        "maintenance.txt",
        "words_added_to_our_reason.txt",
        "line_added_to_our_reason.txt",
    ],
)
def test_what_somebody_else_did_stays(state: str, fixture: str) -> None:
    slurm = FakeSlurm(fixture)
    result = drain(slurm, state)
    assert (result["drained_by"], result["changed"], slurm.updates) == ("other", False, [])
    assert result["reason"]


def test_check_mode_foresees_and_changes_nothing() -> None:
    slurm = FakeSlurm(("allocated.txt", BUSY))
    result = drain(slurm, check_mode=True, wait=3600)
    assert slurm.updates == []
    assert (result["state"], result["drained_by"], result["changed"]) == ("draining", "us", True)
    assert result["jobs"] == [{"id": "6", "user": "operator", "name": "llama | 70b"}]
    assert result["diff"] == [
        {
            "before_header": "node2",
            "after_header": "node2",
            "before": "state: resumed\ndrained_by: nobody\nreason: \n",
            "after": f"state: draining\ndrained_by: us\nreason: {OURS}\n",
        }
    ]


def test_without_a_wait_the_running_jobs_are_told() -> None:
    result = drain(FakeSlurm(("allocated.txt", BUSY), ("draining.txt", BUSY)))
    assert result["state"] == "draining"
    assert len(result["jobs"]) == 1  # type: ignore[arg-type]


def test_running_jobs_are_waited_for() -> None:
    slurm = FakeSlurm(("allocated.txt", BUSY), ("draining.txt", BUSY), "completing.txt", "drained_by_us.txt")
    result = drain(slurm, wait=60, poll=10)
    assert (result["state"], result["jobs"], result["changed"]) == ("drained", [], True)


def test_jobs_that_outlive_the_wait_are_named_and_our_drain_stays() -> None:
    slurm = FakeSlurm(("allocated.txt", BUSY), ("draining.txt", BUSY))
    with pytest.raises(GaudiError) as caught:
        drain(slurm, wait=60, poll=7)
    assert str(caught.value) == (
        "node2 still runs 1 job: 6 (operator, llama | 70b) after 60 s; our drain stays, so it gets no new jobs:"
        " run this again to wait on, or resume it with state=resumed."
    )
    assert (caught.value.facts["state"], caught.value.facts["changed"]) == ("draining", True)
    assert len(slurm.updates) == 1


def test_a_drain_that_is_lifted_meanwhile_is_told() -> None:
    slurm = FakeSlurm(("allocated.txt", BUSY), ("draining.txt", BUSY), ("allocated.txt", BUSY))
    with pytest.raises(GaudiError, match="Somebody resumed node2"):
        drain(slurm, wait=60)


class AwayOnce(FakeSlurm):
    """The controller restarts while jobs are waited for."""

    looks = 0

    def __call__(self, argv: Sequence[str], **more: object) -> CommandResult:
        self.looks += argv[1:3] == ["--oneliner", "show"]
        if argv[0] == "scontrol" and self.looks == 3:
            self.looks += 1
            return CommandResult(1, "", text("controller_away.err"))
        return super().__call__(argv)


def test_a_controller_that_restarts_does_not_end_the_wait() -> None:
    slurm = AwayOnce(("allocated.txt", BUSY), ("draining.txt", BUSY), "drained_by_us.txt")
    assert drain(slurm, wait=60)["state"] == "drained"
    assert slurm.looks > 3


def test_a_drain_without_effect_is_told() -> None:
    with pytest.raises(GaudiError, match="still shows it as resumed"):
        drain(FakeSlurm("idle.txt"))


def test_a_node_down_by_itself_while_ours_is_given_back() -> None:
    slurm = FakeSlurm("down_while_ours.txt", "idle.txt")
    assert drain(slurm, "resumed")["state"] == "resumed"


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (CommandResult(127, "", "scontrol: not installed"), "scontrol is not installed on"),
        (CommandResult(1, text("unknown_node.err"), ""), "Slurm has no node node2; give the NodeName of slurm.conf"),
        (CommandResult(1, "", text("unknown_node_update.err")), "Slurm has no node node2"),
        (
            CommandResult(1, "", text("denied.err")),
            r"does not let this user change node2 \(slurm_update error: Invalid",
        ),
        (CommandResult(1, "", text("controller_away.err")), "Unable to contact slurm controller"),
        (
            CommandResult(1, "", text("munge_away.err")),
            "Protocol authentication error; see whether slurmctld and munge",
        ),
    ],
)
def test_each_failure_of_slurm_is_one_sentence(failure: CommandResult, words: str) -> None:
    with pytest.raises(GaudiError, match=words) as caught:
        converge(DrainOptions("node2", "slurm", "drained"), lambda *a, **k: failure, False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("node", ["", "node[1-2]", "node1,node2", "-a", "a b", "../a", "{node}"])
def test_only_one_node_can_be_named(node: str) -> None:
    with pytest.raises(GaudiError, match="is not the name of one node"):
        converge(DrainOptions(node, "slurm", "drained"), FakeSlurm("idle.txt"), False)


def test_a_name_that_slurm_takes_for_several_nodes_is_refused() -> None:
    with pytest.raises(GaudiError, match="does not show that node"):
        converge(DrainOptions("ALL", "slurm", "drained"), lambda *a, **k: CommandResult(0, text("idle.txt"), ""), False)


@pytest.mark.parametrize("more", [{"wait": -1.0}, {"poll": 0.0}, {"timeout": 0.0}])
def test_times_that_cannot_be_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(GaudiError, match="seconds"):
        drain(FakeSlurm("idle.txt"), **more)


def test_without_an_adapter_nothing_is_asked() -> None:
    result = converge(DrainOptions("node2", "none", "drained"), lambda *a, **k: pytest.fail("was called"), False)
    assert result == {
        "state": "resumed",
        "drained_by": "nobody",
        "reason": "",
        "jobs": [],
        "changed": False,
        "diff": [],
    }
