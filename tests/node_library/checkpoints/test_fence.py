# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which generation may write a directory, what a fence may be, and who of two that take it at once gets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gaudi3_scale
from gaudi3_scale.checkpoints.fence import (
    FILE_NAME,
    MOST_BYTES,
    VARIABLE,
    Fence,
    FenceError,
    Generation,
    Holder,
    fence_text,
    generation_from,
    read_fence,
    successor,
)
from gaudi3_scale.core._errors import GaudiError

FIRST, SECOND, THIRD = (Generation("0123456789abcdef", number) for number in (1, 2, 3))
OTHER = Generation("fedcba9876543210", 1)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({VARIABLE: ""}, None),
        ({VARIABLE: "0123456789abcdef:2"}, SECOND),
        ({VARIABLE: "a.b-c_D:0"}, Generation("a.b-c_D", 0)),
    ],
)
def test_a_generation_is_a_launch_and_a_number(environment, expected):
    assert generation_from(environment) == expected


@pytest.mark.parametrize(
    "reported", ["7", ":7", "a:", "a:-1", "a:1.5", "a:٣", "a b:1", "a/b:1", f"{'a' * 65}:1", "a:" + "9" * 16, "a:1\n"]
)
def test_what_is_no_generation_is_one_sentence(reported):
    with pytest.raises(GaudiError, match=rf"^\${VARIABLE} is .*, but a generation is LAUNCH:NUMBER; do not set it"):
        generation_from({VARIABLE: reported})


def test_a_later_generation_and_another_launch_take_over():
    held = successor(None, FIRST, "fence")
    assert held == Holder(FIRST)
    held = successor(held, THIRD, "fence")
    assert held == Holder(THIRD)
    assert successor(held, THIRD, "fence") == held
    held = successor(held, OTHER, "fence")
    assert held == Holder(OTHER, (FIRST.launch,))
    assert read_fence(fence_text(held)) == held


def test_an_earlier_generation_is_refused_by_name():
    with pytest.raises(FenceError) as reported:
        successor(Holder(THIRD), SECOND, "/job/fence.json")
    assert str(reported.value) == (
        "/job/fence.json is held by generation 3 of launch 0123456789abcdef, so generation 2 of launch "
        "0123456789abcdef is over: it writes and removes nothing there."
    )


def test_a_launch_that_was_replaced_never_comes_back():
    with pytest.raises(FenceError, match="held by generation 1 of launch fedcba9876543210, so generation 3 of launch"):
        successor(Holder(OTHER, ("another", FIRST.launch)), THIRD, "fence")


def test_a_fence_of_a_thousand_launches_can_still_be_read():
    held = None
    for number in range(1000):
        held = successor(held, Generation(f"{number:064}", 1), "fence")
    assert len(fence_text(held)) < MOST_BYTES
    assert read_fence(fence_text(held)) == held
    assert held.earlier[-1] == f"{998:064}"


def test_who_has_the_fence_holds_it_until_another_takes_it(tmp_path):
    first, second = Fence(tmp_path, FIRST), Fence(tmp_path, SECOND)
    first.take()
    first.require()
    second.take()
    second.require()
    with pytest.raises(FenceError, match=r"held by generation 2 of launch .* so generation 1 of launch .* is over"):
        first.require()
    with pytest.raises(FenceError, match="held by generation 2"):
        first.take()
    second.require()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
    (tmp_path / FILE_NAME).unlink()
    with pytest.raises(FenceError, match=r"fence\.json is gone, so generation 2 of launch"):
        second.require()


def test_without_generations_nothing_is_fenced_and_nothing_written(tmp_path):
    (tmp_path / "other").mkdir()
    Fence(tmp_path / "other", SECOND).take()
    for directory in (tmp_path, tmp_path / "other"):
        fence = Fence(directory, None)
        fence.take()
        fence.require()
    assert not (tmp_path / FILE_NAME).exists()


def link(path: Path) -> None:
    path.with_name("elsewhere").write_text(fence_text(Holder(FIRST)))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda path: path.write_bytes(b"\xff"), "it is not UTF-8 at byte 0"),
        (lambda path: path.write_text(""), "Expecting value"),
        (lambda path: path.write_text("[]"), "it is not a JSON object"),
        (lambda path: path.write_text("{}"), "it must have launch, number and earlier, and nothing else"),
        (
            lambda path: path.write_text(json.dumps({"launch": "a", "number": True, "earlier": []})),
            "its number is not a ",
        ),
        (
            lambda path: path.write_text(json.dumps({"launch": "a", "number": -1, "earlier": []})),
            "its number is not a ",
        ),
        (
            lambda path: path.write_text(json.dumps({"launch": ["a"], "number": 1, "earlier": []})),
            "a launch in it has ",
        ),
        (
            lambda path: path.write_text(json.dumps({"launch": "a", "number": 1, "earlier": [{}]})),
            "a launch in it has ",
        ),
        (lambda path: path.write_text(json.dumps({"launch": "a", "number": 1, "earlier": "a"})), "a launch in it has "),
        (lambda path: path.write_bytes(b" " * (MOST_BYTES + 1)), f"it has more than {MOST_BYTES} bytes"),
        (lambda path: path.write_text("[" * 5000), "it nests deeper than 64 levels"),
        (os.mkfifo, "it is not a regular file"),
        (Path.mkdir, "Is a directory"),
        (link, "Too many levels of symbolic links"),
    ],
)
def test_a_fence_that_is_none_is_one_sentence_and_stays(tmp_path, made, reason):
    path = tmp_path / FILE_NAME
    made(path)

    def left() -> tuple[int, int, int, int]:
        """All but when it was read, which a read may change."""
        now = path.lstat()
        return now.st_mode, now.st_ino, now.st_size, now.st_mtime_ns

    before = left()
    for act in (Fence(tmp_path, SECOND).take, Fence(tmp_path, SECOND).require):
        with pytest.raises(FenceError) as reported:
            act()
        assert str(reported.value).startswith(f"{path} does not say which generation may write there: {reason}")
        assert str(reported.value).endswith("; remove it when no rank of the job runs, and launch again.")
    assert left() == before
    assert not list(tmp_path.glob(".*"))


def test_a_directory_where_it_cannot_be_written(tmp_path):
    with pytest.raises(
        GaudiError, match=r"^generation 2 of launch 0123456789abcdef cannot take .*: No such file or dir"
    ):
        Fence(tmp_path / "gone", SECOND).take()


STOPPED_WHILE_TAKING = """
import os, signal, sys
from pathlib import Path
from gaudi3_scale.checkpoints import fence
from gaudi3_scale.core._errors import GaudiError

taking, stopping = sys.argv[2], getattr(fence, sys.argv[3])

def stopped(*arguments):
    os.kill(os.getpid(), signal.SIGSTOP)
    return stopping(*arguments)

setattr(fence, sys.argv[3], stopped)
try:
    fence.Fence(Path(sys.argv[1]), fence.generation_from({fence.VARIABLE: taking})).take()
except GaudiError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("at", ["successor", "fence_text", "read_fence"])
def test_a_generation_that_slept_while_it_took_the_fence_does_not_get_it(tmp_path, at):
    """Whether it had read it already or not."""
    Fence(tmp_path, FIRST).take()
    script = [sys.executable, "-c", STOPPED_WHILE_TAKING, tmp_path, f"{SECOND.launch}:{SECOND.number}", at]
    sleeper = subprocess.Popen(script, stderr=subprocess.PIPE, text=True)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
    Fence(tmp_path, THIRD).take()
    sleeper.send_signal(signal.SIGCONT)
    said = sleeper.communicate(timeout=60)[1]
    assert sleeper.returncode == 1
    assert "generation 2 of launch 0123456789abcdef" in said
    Fence(tmp_path, THIRD).require()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_program_of_ones_own_takes_it_and_asks(tmp_path, monkeypatch):
    mine = tmp_path / "checkpoints"
    monkeypatch.delenv(VARIABLE, raising=False)
    gaudi3_scale.take_fence(mine)
    assert gaudi3_scale.holds_fence(mine)
    assert not mine.exists()
    monkeypatch.setenv(VARIABLE, "0123456789abcdef:2")
    assert not gaudi3_scale.holds_fence(mine)
    gaudi3_scale.take_fence(mine)
    assert gaudi3_scale.holds_fence(str(mine))
    Fence(mine, THIRD).take()
    assert not gaudi3_scale.holds_fence(mine)
    with pytest.raises(FenceError, match="held by generation 3"):
        gaudi3_scale.take_fence(mine)


def test_the_fence_needs_no_pytorch(tmp_path):
    script = (
        "import sys; from gaudi3_scale import take_fence; take_fence(sys.argv[1]); assert 'torch' not in sys.modules"
    )
    environment = {**os.environ, VARIABLE: "0123456789abcdef:2"}
    subprocess.run([sys.executable, "-c", script, tmp_path], env=environment, check=True)
    Fence(tmp_path, SECOND).require()
