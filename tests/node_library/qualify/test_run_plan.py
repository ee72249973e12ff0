# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node's plan run with programs in the place of hl_qual: what passes, fails, hangs, is cut off and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

from gaudi3_scale.core._cards.hpu_facts import gather
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import CommandResult
from gaudi3_scale.core._qualify.files import Files
from gaudi3_scale.core._qualify.plan import Options, plan
from gaudi3_scale.qualify import driver
from gaudi3_scale.qualify.run import run_plan

PASSES = "echo hl_qual: $*; echo PASSED"


class Node:
    """A healthy node of simulated cards below ``root``, and what was done to its driver."""

    def __init__(self, root: Path, level: str = "quick", script: str = PASSES, **options: Any) -> None:
        self.root, self.smi = root, HlSmi()
        self.kernel = str(write_kernel(root / "kernel", pci_id=options.pop("pci_id", "0x1060")))
        self.files = Files(str(root / "state"))
        Path(self.files.directory).mkdir()
        self.done: list[str] = []
        self.logged = ""
        facts = gather(self.run, self.kernel)
        self.generation = facts.generation or ""
        self.plan = plan(Options(level, "1.24.1", 8, "hpu", "/venv", **options), facts)
        self.files.write(self.files.plan, self.plan)
        self.qual(script)

    def qual(self, script: str) -> None:
        directory = self.root / "qual" / self.generation / "bin"
        directory.mkdir(parents=True, exist_ok=True)
        program = directory / "hl_qual"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def run(self, argv: Sequence[str], **more: Any) -> CommandResult:
        if argv[0] in ("modprobe", "rmmod"):
            self.done.append(" ".join(argv))
            if list(argv[:2]) == ["modprobe", driver.DRIVER]:
                self.locked(0 if driver.UNLOCKED in argv else 30)
            return CommandResult(0, "", "")
        if argv[0] == "journalctl":
            return CommandResult(0, self.logged, "")
        return self.smi(argv, **more)

    def locked(self, seconds: int) -> None:
        """The driver is loaded with this timeout_locked."""
        parameters = Path(self.kernel, "sys/module/habanalabs/parameters")
        parameters.mkdir(parents=True, exist_ok=True)
        (parameters / "timeout_locked").write_text(f"{seconds}\n")

    def qualify(self) -> dict[str, tuple[str, str]]:
        """Test -> its state and its reasons; runs the plan."""
        self.state = run_plan(self.files, self.run, self.kernel, str(self.root / "qual"))
        return {result["test"]: (result["state"], " ".join(result["reasons"])) for result in self.files.read_results()}


def test_a_healthy_node_passes_each_test_and_says_so(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert {state for state, _reasons in node.qualify().values()} == {"passed"}
    verdict = node.files.read(node.files.verdict)
    assert (node.state, verdict["state"], verdict["reasons"], verdict["key"]) == (
        "healthy",
        "healthy",
        [],
        node.plan["key"],
    )
    assert not Path(node.files.current).exists()
    assert node.done == []


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        ("echo 0000:19:00.0: FAILED: mismatch; echo FAILED; exit 0", "failed", "0000:19:00.0: FAILED: mismatch."),
        # Without a verdict nothing was measured: the node does not pass, and no card is blamed.
        (
            "echo PASSED; exit 3",
            "unknown",
            "hl_qual ended with 3 and without a verdict of a failure, its last line is: PASSED.",
        ),
        ("exit 0", "unknown", "hl_qual ended with 0 and without a verdict, and printed nothing."),
        (
            "echo nothing of a verdict",
            "unknown",
            "hl_qual ended with 0 and without a verdict, its last line is: nothing of a verdict.",
        ),
    ],
)
def test_a_run_passes_by_its_verdict_and_its_exit_code_alone(
    script: str, state: str, reason: str, tmp_path: Path
) -> None:
    node = Node(tmp_path, script=script)
    assert node.qualify()["functional"] == (state, reason)
    assert node.state == {"failed": "unhealthy", "unknown": "inconclusive"}[state]


def test_a_hanging_test_is_killed_with_its_children_and_the_others_go_on(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    hang = f'case "$*" in *-ser*) sleep 600 & echo $! > {mark}; wait;; *) echo PASSED;; esac'
    node = Node(tmp_path, script=hang)
    node.plan["tests"] = [{**test, "seconds": 1} for test in node.plan["tests"]]
    node.files.write(node.files.plan, node.plan)
    found = node.qualify()
    assert found["serdes-errors"][0] == "unknown"
    assert "did not finish within 1 s and was killed" in found["serdes-errors"][1]
    assert found["functional"][0] == "passed"
    # Its time is over, and nothing else speaks against the node: it is neither qualified nor condemned.
    assert (found["serdes-errors"][0], node.state) == ("unknown", "inconclusive")
    limits = {result["test"]: result["limit"] for result in node.files.read_results()}
    assert {test for test, limit in limits.items() if limit} == {"serdes-errors"} and limits["serdes-errors"] == 1
    # Dead, whether or not its new parent has noticed.
    status = Path(f"/proc/{int(mark.read_text())}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()


@pytest.mark.parametrize("said", ["N/A", "505712272 C"])
def test_a_reading_that_is_no_value_condemns_nobody(said: str, tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.smi = HlSmi(cells={"0000:19:00.0": {"temperature.aip": said}})
    node.files.write(node.files.plan, {**node.plan, "tests": node.plan["tests"][:1]})
    state, reason = node.qualify()["host"]
    assert (state, node.state) == ("unknown", "inconclusive")
    assert "run hl-smi as root and check its error" in reason
    assert node.files.read_results()[0]["action"] == ""


def test_errors_that_were_not_known_before_have_not_grown(tmp_path: Path) -> None:
    node = Node(tmp_path, script=f"touch {tmp_path}/known; echo PASSED")
    name = "ecc.errors.uncorrected.volatile.total"
    unknown, known = (HlSmi(cells={"0000:19:00.0": {name: said}}) for said in ("505712272", "3"))
    node.smi = lambda argv, **more: (known if (tmp_path / "known").exists() else unknown)(argv, **more)
    assert node.qualify()["pcie"] == ("passed", "")


def test_a_hanging_test_during_which_the_kernel_logs_an_error_has_failed(tmp_path: Path) -> None:
    node = Node(tmp_path, script='case "$*" in *-ser*) sleep 600;; *) echo PASSED;; esac')
    node.plan["tests"] = [{**test, "seconds": 1} for test in node.plan["tests"]]
    node.files.write(node.files.plan, node.plan)
    node.logged = "habanalabs hl0: error interrupt"
    found = node.qualify()
    assert (found["serdes-errors"][0], node.state) == ("failed", "unhealthy")
    assert "the kernel said meanwhile" in found["serdes-errors"][1]


def test_an_hl_smi_that_does_not_answer_in_time_condemns_nobody(tmp_path: Path) -> None:
    """It answers nothing from the first look on, so that no test of hl_qual is to blame either."""
    node = Node(tmp_path)
    node.smi = lambda argv, **more: CommandResult(124, "", f"{argv[0]}: timed out after {more.get('timeout')} s")
    found = node.qualify()
    assert (found["host"][0], node.state) == ("unknown", "inconclusive")
    assert "hl-smi: it had not finished after 90 s" in found["host"][1]
    assert {state for test, (state, _reasons) in found.items() if test != "host"} == {"passed"}


def test_without_hl_qual_nobody_can_tell(tmp_path: Path) -> None:
    node = Node(tmp_path)
    (tmp_path / "qual" / "gaudi3" / "bin" / "hl_qual").unlink()
    found = node.qualify()
    assert found["host"][0] == "passed"
    assert "install the package habanalabs-qual" in found["pcie"][1]
    assert node.state == "inconclusive"


def test_what_was_cut_off_goes_on_with_the_test_that_was_cut_off(tmp_path: Path) -> None:
    node = Node(tmp_path, script="kill -9 $PPID; sleep 9")
    program = f"import sys; sys.path[:0] = {sys.path!r}\nfrom test_run_plan import again\nagain({str(tmp_path)!r})"
    cut = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=False)
    assert cut.returncode == -9
    assert [result["test"] for result in node.files.read_results()] == ["host"]
    assert node.files.read(node.files.current)["test"] == "pcie"
    before = Path(node.files.results).read_text()
    node.qual(PASSES)
    assert set(node.qualify()) == {test["test"] for test in node.plan["tests"]}
    assert Path(node.files.results).read_text().startswith(before)
    assert node.state == "healthy"


def again(root: str) -> None:
    """The plan of a node that is there, in a process of its own."""
    node = object.__new__(Node)
    node.smi, node.logged, node.done = HlSmi(), "", []
    run_plan(Files(f"{root}/state"), node.run, f"{root}/kernel", f"{root}/qual")


def test_what_the_kernel_logs_meanwhile_fails_the_test(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.logged = "habanalabs hl0: error interrupt\nusb 1-1: reset\npcieport: AER: corrected error"
    found = node.qualify()
    assert "the kernel said meanwhile: habanalabs hl0: error interrupt." in found["functional"][1]
    assert "usb" not in found["functional"][1]
    assert found["host"][0] == "passed"


def test_a_link_that_goes_down_and_errors_that_grow_are_the_test_s_fault(tmp_path: Path) -> None:
    node = Node(tmp_path, script=f"test -e {tmp_path}/no || touch {tmp_path}/worse; echo PASSED")
    healthy = HlSmi()
    worse = HlSmi(cells={"0000:19:00.0": {"ecc.errors.uncorrected.aggregate.total": "3"}}, down={"0000:3b:00.0": [0]})
    node.smi = lambda argv, **more: (worse if (tmp_path / "worse").exists() else healthy)(argv, **more)
    reasons = node.qualify()["pcie"][1]
    assert "the link 0000:3b:00.0 port 0 went down." in reasons


def test_cards_that_are_held_are_left_alone_and_named(tmp_path: Path) -> None:
    node = Node(tmp_path)
    device = Path(node.kernel, "dev/accel/accel3")
    device.parent.mkdir(parents=True)
    device.touch()
    with device.open():
        found = node.qualify()
    assert found["pcie"][0] == "unknown"
    assert f"held by process {os.getpid()}" in found["pcie"][1]
    assert node.state == "inconclusive"


def test_the_driver_is_put_back_after_the_tests_that_want_another_one(tmp_path: Path) -> None:
    node = Node(tmp_path, level="full", pci_id="0x1020", reload_driver=True)
    node.qualify()
    unlocked = [number for number, line in enumerate(node.done) if driver.UNLOCKED in line]
    # Once for all that want it, which come last.
    assert len(unlocked) == 1
    assert [test["driver"] for test in node.plan["tests"][1:4]] == ["", "", ""]
    # After the last of them it was unloaded and loaded once more, as at boot.
    after = node.done[unlocked[-1] + 1 :]
    assert "modprobe habanalabs" in after and f"rmmod {driver.DRIVER}" in after
    assert not Path(node.files.reloaded).exists()


def test_a_failure_without_the_driver_that_some_want_is_nobody_s_fault(tmp_path: Path) -> None:
    node = Node(tmp_path, pci_id="0x1020", script="echo functional FAILED: job timed out; echo FAILED; exit 1")
    node.locked(30)
    node.logged = "accel accel2: Command submission 4711 timed out"
    state, reason = node.qualify()["functional"]
    assert state == "unknown"
    assert "this may not be a fault of a card: it needs a driver that is loaded with timeout_locked=0" in reason
    assert "this one has 30; see docs/qualify.md" in reason
    # Bandwidth is measured the same with any driver.
    assert node.qualify()["memory-bandwidth"][0] == "failed"


def test_with_the_driver_that_it_wants_a_failure_is_the_card_s(tmp_path: Path) -> None:
    failing = "case $* in *-f2*) echo accuracy mismatch FAILED; exit 1;; *) echo PASSED;; esac"
    node = Node(tmp_path, pci_id="0x1020", script=failing)
    node.locked(0)
    assert node.qualify()["functional"] == ("failed", "accuracy mismatch FAILED.")
    assert node.done == []


def test_a_driver_that_was_loaded_again_since_the_plan_was_made_is_noticed(tmp_path: Path) -> None:
    node = Node(tmp_path, level="full", pci_id="0x1020", reload_driver=True)
    node.files.write(node.files.plan, {**node.plan, "reload_driver": False})
    node.locked(30)
    state, reason = node.qualify()["power"]
    assert state == "unknown" and "loaded with timeout_locked=0, and this one has 30" in reason


def test_a_plan_of_an_older_version_condemns_nobody(tmp_path: Path) -> None:
    node = Node(tmp_path, pci_id="0x1020", script="echo FAILED; exit 1")
    kept = ("test", "words", "seconds", "action")
    tests = [{name: test[name] for name in kept if name in test} for test in node.plan["tests"]]
    node.files.write(node.files.plan, {**node.plan, "format": 1, "tests": tests})
    node.locked(30)
    assert {state for name, (state, _reason) in node.qualify().items() if name != "host"} == {"unknown"}


def test_each_group_of_cards_is_tested_by_itself(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    node = Node(tmp_path, pci_id="0x1021", script=f"echo $* >> {log}; echo Passed", reload_driver=True)
    found = node.qualify()
    assert found["functional-quad_0"] == found["functional-quad_1"] == ("passed", "")
    assert "-gaudi2 -c quad_1 -dis_mon -rmod parallel -f2 -l extreme -t 60" in log.read_text()
    assert node.state == "healthy"


def test_hl_qual_gets_its_environment_where_the_unit_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("__python_cmd", raising=False)
    monkeypatch.setenv("GC_KERNEL_PATH", str(tmp_path))
    log = tmp_path / "environment"
    node = Node(tmp_path, script=f"env > {log}; echo PASSED")
    node.qualify()
    said = log.read_text().splitlines()
    assert "__python_cmd=python3" in said and f"GC_KERNEL_PATH={tmp_path}" in said
    assert "HABANA_LOGS=/var/log/habana_logs/" in said


def test_without_an_interpreter_its_tests_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Node(tmp_path, script="echo PASSED").qualify()
    assert found["pcie"][0] == "unknown" and "it needs __python_cmd" in found["pcie"][1]
    assert found["serdes-errors"][0] == "passed"


def test_what_does_not_come_up_again_is_named_past_the_time(tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = gather(node.run, node.kernel)
    address = before.cards[0].pci_address
    Path(node.kernel, "sys/bus/pci/devices", address, "status").write_text("In reset\n")
    times = iter([0.0, 100.0, 301.0])
    waited: list[float] = []
    with pytest.raises(GaudiError, match=f"300 s later card {address} was Operational and is In reset; see hl-smi"):
        driver.wait_until_up(before, lambda: gather(node.run, node.kernel), 300, times.__next__, waited.append)
    assert waited == [3.0]


def test_a_run_that_was_cut_off_with_another_driver_puts_it_back_first(tmp_path: Path) -> None:
    node = Node(tmp_path)
    Path(node.files.reloaded).touch()
    node.qualify()
    assert node.done[0].startswith("rmmod") and "modprobe habanalabs" in node.done
    assert not Path(node.files.reloaded).exists()


def test_there_is_nothing_to_run_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"has no tests; begin with qualify_nodes\.yml"):
        run_plan(Files(str(tmp_path)), HlSmi(), str(tmp_path))


def test_the_program_tells_by_its_exit_code(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gaudi3_scale.qualify", "--directory", str(tmp_path)]
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "begin with qualify_nodes.yml" in done.stderr) == (2, True)
    # Neither PyTorch nor Lightning is imported for it.
    assert time.monotonic() - began < 60
