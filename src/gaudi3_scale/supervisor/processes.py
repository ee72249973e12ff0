# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""torchrun and all that it starts on this node, for one generation: started, watched, and ended without a rest."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from typing import IO, Callable, Collection, Mapping, Sequence, cast

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.agent_table import NOTICE, agent_entries, signaled
from gaudi3_scale.core._node.process_tree import descendants, ended_children, environment_of, processes_in, started_with
from gaudi3_scale.core._node.regular_file import read_end
from gaudi3_scale.supervisor.rank_exits import Gone, RankExits
from gaudi3_scale.supervisor.waiting_agent import WaitingAgent, start_agent

# The agent ends its other ranks at once when one has failed, and says so; which one it was it says only when they are
# gone, up to 30 s later (elastic/multiprocessing/api.py of torch 2.13).
FIRST_SIGN = re.compile(r"Sending process \d+ closing signal")
# What the agent gets to name the rank that failed first, once all are gone. Its table comes later: it is waited for
# where another rank had gone by then, and neither its log nor the time since says how.
AGENT_S = 10.0
# Processes that are still there so long after SIGKILL hang in the kernel.
STUCK_S = 30.0
KEPT_BYTES = 1 << 16
# What all that a supervisor starts has in its environment: the path of the supervisor's status.
MARK = "GAUDI3_SCALE_SUPERVISOR"
# A rank may leave processes behind for as long as the job runs.
COLLECT_S = 60.0
# Python 3.11 refuses to read one of some thousand digits.
_LONGEST_NUMBER = 9


def ranks_of(pid: int, apart: Collection[int] = ()) -> dict[int, int]:
    """Process by local rank, of the ranks below ``pid`` that are not ``apart``; what a rank has started has its
    variables, but is none."""
    tree = descendants(pid)
    found: dict[int, int] = {}
    ranks = {child: environment_of(child).get("LOCAL_RANK", "") for child in tree if child not in apart}
    for child, local in ranks.items():
        if local.isdecimal() and len(local) <= _LONGEST_NUMBER and not ranks.get(tree[child]):
            found[int(local)] = child
    return found


def end_earlier_life(status: str, meanwhile: Callable[[], None]) -> None:
    """End what an earlier supervisor of this job has left here. Raises GaudiError where that cannot be ended.

    ``meanwhile`` is called as long as that takes.

    systemd leaves nothing: a unit whose main process was killed is cleaned up (KillMode=mixed). Elsewhere ranks would
    go on without anybody who watches them, and keep the cards and the rendezvous port.
    """
    end = time.monotonic() + STUCK_S
    while left := started_with(MARK, status):
        if time.monotonic() > end:
            raise GaudiError(
                f"processes {sorted(left)} of an earlier start of this job cannot be ended; reboot the node."
            )
        for pid in left:
            _send(pid, signal.SIGKILL)
        meanwhile()
        time.sleep(0.1)


class Ranks:
    """The processes of one generation. ``look`` has to be called several times a second.

    ``died`` is when a rank, or the agent, was first seen not to have ended well by itself; None while that is not so.
    ``suspected``: that is only likely, since they were told to end before the agent had said anything.
    """

    def __init__(
        self,
        generation: int,
        argv: Sequence[str],
        environment: Mapping[str, str],
        control_group: str,
        now: float,
        *,
        processes: int,
        says_why: Callable[[int], bool],
        container_process: str = "",
        waiting: WaitingAgent | None = None,
    ) -> None:
        """``container_process``: the file with the number of the agent, where what is started is the engine of a
        container (``core._job.container.enter``). ``processes``: how many ranks the agent starts;
        ``says_why``: whether the log of the one with this local rank has the exception that it ended by.
        ``waiting`` becomes the agent where it can, and what waits for the next start is left alone.
        """
        self.generation = generation
        self.started = now
        self.output = b""
        self.died: float | None = None
        self.suspected = False
        self.stuck = False
        self.alive = True
        self.exit_code: int | None = None
        self._control_group = control_group
        self._container_process = container_process
        self._ending: float | None = None
        self._killed: float | None = None
        self._ranks_gone: float | None = None
        self._signs = self._named = False
        self._says_why = says_why
        # When the agent first said that a rank has failed, or ended itself.
        self._settled: float | None = None
        self._waits_for_table: bool | None = None
        self._collected = now
        self._reported: set[int] = set()
        self._waiting = waiting
        self._agent = (waiting.take(argv, environment) if waiting else None) or start_agent(argv, environment)
        self._pipe = cast(IO[bytes], self._agent.stdout)
        os.set_blocking(self._pipe.fileno(), False)
        self._exits = RankExits(self.below_agent, processes)

    def gone(self, now: float) -> dict[int, Gone]:
        """The ranks that ended before they were told to, by whomever, by local rank."""
        told = signaled(self.text)
        gone = self._exits.gone(now if self._settled is None else self._settled, all_well=self.exit_code == 0)
        return {local: one for local, one in gone.items() if self._exits.known.get(local) not in told}

    @property
    def succeeded(self) -> bool:
        """All ranks ended well, and were not told to."""
        return not self.alive and self.exit_code == 0 and self._ending is None

    @property
    def text(self) -> str:
        """The last of what the agent said."""
        return self.output.decode(errors="replace")

    @property
    def is_ending(self) -> bool:
        """Whether they were told to end."""
        return self._ending is not None

    def below_agent(self) -> dict[int, int]:
        """Process by local rank. What a rank leaves behind has its variables, but is not below the agent any more.

        A container is not below the program that started it: what watches over it (conmon) became a child of this
        process, and has whatever a rank leaves behind there as well.
        """
        inner = _number_in(self._container_process) if self._container_process else self._agent.pid
        return ranks_of(inner) if inner else {}

    def look(self, now: float) -> None:
        """See what has happened since."""
        if not self.alive:
            return
        self._read()
        if now - self._collected > COLLECT_S:
            self._collected = now
            self._collect()
        self.exit_code = self._agent.poll()
        if self.died is None and self._ending is None and self._has_failed():
            self.died = now
        if self._settled is None and (self._signs or self.exit_code is not None):
            self._settled = now
        if self.died is None and self._ending is None and self.exit_code is None:
            self._exits.look(now)
        if self.exit_code == 0 and self.died is None and self._ending is None:
            self._exits.ended_by({}, now)
        if self._ending is not None:
            self._go_on_ending(self._ending, now)
        elif self.exit_code is not None:
            # Of ranks that ended well, too, nothing is to be left.
            self._kill_all(now)
        if self.exit_code is not None and not self._members():
            self._read()
            self._pipe.close()
            self.alive = self.stuck = False

    def end(self, grace: float, now: float, suspected: bool = False) -> None:
        """SIGTERM to the ranks at once, SIGKILL to everything after ``grace`` seconds; sooner when no rank is left.

        ``suspected``: one of them seems to have failed by itself, and the agent is to say what it knows of that.
        """
        if not self.alive:
            return
        if suspected and self.died is None and self._ending is None:
            self.died, self.suspected = now, True
        if self._ending is None:
            self._ending = now + grace
            # Not to the agent: it would give its ranks 30 s, whatever was agreed upon. What a rank leaves behind looks
            # like one once its parent is gone, but is not waited for.
            ranks = ranks_of(os.getpid(), self._apart())
            self._exits.ended_by(ranks, now)
            self._reported = set(ranks.values())
            for pid in self._reported:
                _send(pid, signal.SIGTERM)
        self._ending = min(self._ending, now + grace)

    def _go_on_ending(self, ending: float, now: float) -> None:
        ranks = self._reported & set(descendants(os.getpid()))
        if ranks and now < ending:
            return
        for pid in ranks:
            _send(pid, signal.SIGKILL)
        if self._ranks_gone is None:
            self._ranks_gone = now
        # Its word is wanted only where a rank failed by itself here.
        named = self.died is None or (self._named and not self._table_is_wanted(now)) or self.exit_code is not None
        if named or now > self._ranks_gone + AGENT_S:
            self._kill_all(now)

    def _table_is_wanted(self, now: float) -> bool:
        """Whether only the agent's table can say how a rank ended that had gone before the others were ended."""
        if self._waits_for_table is None:
            notice = NOTICE.search(self.text)
            named = int(notice["local"]) if notice else None
            unclear = [local for local, one in self.gone(now).items() if not one.ended_well and local != named]
            self._waits_for_table = not all(map(self._says_why, unclear))
        return self._waits_for_table and not agent_entries(self.text)

    def _kill_all(self, now: float) -> None:
        if self._killed is None:
            self._killed = now
        self.stuck = now - self._killed > STUCK_S
        for pid in self._members():
            _send(pid, signal.SIGKILL)

    def _members(self) -> set[int]:
        """Everything but this process itself; descendants that were left alone by their parents are among them."""
        self._collect()
        found = set(processes_in(self._control_group)) | set(descendants(os.getpid()))
        return found - {os.getpid()} - self._apart()

    def _apart(self) -> set[int]:
        """What waits for the next generation."""
        return self._waiting.processes if self._waiting else set()

    def _collect(self) -> None:
        """What ended after its parent did is our child; the agent itself is collected by its Popen."""
        for pid in ended_children(os.getpid()) - {self._agent.pid}:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def _has_failed(self) -> bool:
        return bool(self.exit_code) or self._signs

    def _read(self) -> None:
        """Pass on what the agent said, and keep its end."""
        while True:
            try:
                data = os.read(self._pipe.fileno(), KEPT_BYTES)
            except (BlockingIOError, ValueError, OSError):
                return
            if not data:
                return
            with contextlib.suppress(OSError):
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            self.output = (self.output + data)[-KEPT_BYTES:]
            said = self.text
            self._named = self._named or bool(NOTICE.search(said))
            self._signs = self._signs or self._named or bool(FIRST_SIGN.search(said))


def _number_in(path: str) -> int:
    """0 where the file is not there, or has no number: the container has not begun."""
    text = (read_end(path, _LONGEST_NUMBER + 1) or "").strip()
    return int(text) if text.isdecimal() else 0


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
