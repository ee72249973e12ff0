# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The effects of a supervisor on its own node: it starts and ends ranks, and sees how they stand."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Callable, Mapping

from gaudi3_scale.core._cards.health import unfit_reason
from gaudi3_scale.core._job.failure import RankFailure, agent_failure
from gaudi3_scale.core._job.kernel_reason import with_kernel_reason
from gaudi3_scale.core._job.network import port_is_free
from gaudi3_scale.core._job.paths import JobPaths
from gaudi3_scale.core._job.rank_logs import (
    Exit,
    attempt_directory,
    has_raised,
    ranks_that_end,
    torchrun_failures,
)
from gaudi3_scale.core._job.reported_failure import ENDED_BY_AGENT, LEFT, TOLD_BY_OTHERS
from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._node.process_tree import keep_descendants, own_control_group
from gaudi3_scale.supervisor.files import MASTER_ADDRESS, NNODES, NODE_RANK, RENDEZVOUS_ID, Supervision
from gaudi3_scale.supervisor.generation import Generation
from gaudi3_scale.supervisor.health import HealthCheck
from gaudi3_scale.supervisor.memory_kills import MemoryKills
from gaudi3_scale.supervisor.processes import MARK, Ranks, end_earlier_life, ranks_of
from gaudi3_scale.supervisor.progress import Progress, clear_progress, read_progress
from gaudi3_scale.supervisor.stacks import write_stacks
from gaudi3_scale.supervisor.state import Facts, Order
from gaudi3_scale.supervisor.waiting_agent import HANDING_OVER, NEXT_AFTER_S, WaitingAgent
from gaudi3_scale.supervisor.watchdog import without_own

# The fencing token of ranks: what they publish is refused once a later generation has begun (checkpoints.fence).
FENCE = "GAUDI3_SCALE_GENERATION"
# The store of the generation before closes its port when it is gone.
PORT_S = 5.0
LOOK_AGAIN_S = 60.0
# A card in reset holds hl-smi for 90 s; more than twice that is no answer.
HEALTH_S = 240.0


class Node:
    """This node's ranks, cards and files."""

    def __init__(self, supervision: Supervision, run: Run, meanwhile: Callable[[], None]) -> None:
        """``meanwhile`` is called while it takes long."""
        self._given = supervision
        self._run = run
        self._ranks: Ranks | None = None
        self._generation: Generation | None = None
        self._refused: RankFailure | None = None
        self._failure: RankFailure | None = None
        self._refused_since: float | None = None
        self._left_at: float | None = None
        self._attempt_before: str | None = None
        self._progress = Progress()
        self._stepped: float | None = None
        self._health: HealthCheck | None = None
        self._fit: bool | None = None
        self._unfit = ""
        self._stacks: threading.Thread | None = None
        keep_descendants()
        end_earlier_life(supervision.status, meanwhile)
        self._control_group = own_control_group(JobPaths(supervision.job).unit)
        self._memory_kills = MemoryKills(self._control_group)
        # The environment of what is started here.
        self._marked = {**without_own(os.environ), MARK: supervision.status}
        is_witness = supervision.rules.index == supervision.rules.witness
        self._waiting = WaitingAgent(() if is_witness else supervision.argv, self._marked)
        self._waiting.prepare()

    def facts(self, now: float, terminated: bool, refused: frozenset[int] = frozenset()) -> Facts:
        """How things stand now. ``refused`` is passed on."""
        ranks = self._ranks
        if ranks is not None and ranks.alive:
            ranks.look(now)
            self._memory_kills.look(now)
            if not ranks.alive:
                self._after_ranks(ranks, now)
            elif not ranks.is_ending and now - ranks.started > NEXT_AFTER_S:
                self._waiting.prepare()
        self._look_at_cards(now)
        self._read_progress(now)
        failure = self._refused or self._failure
        died = self._refused_since if self._refused is not None else ranks.died if ranks is not None else None
        failed = died if self._left_at is None else self._left_at
        return Facts(
            generation=None if self._generation is None else self._generation.number,
            alive=ranks is not None and ranks.alive,
            rank_died=died is not None,
            succeeded=ranks is not None and ranks.succeeded,
            stuck=ranks is not None and ranks.stuck,
            failure=None if failure is None else failure.as_dict(),
            failure_age=0.0 if failed is None else now - failed,
            steps=self._progress.steps,
            busy=self._progress.busy,
            step_age=None if self._stepped is None else now - self._stepped,
            reports=self._progress.reported,
            fit=self._fit,
            unfit=self._unfit,
            terminated=terminated,
            stop_requested=terminated and Path(self._given.stop_requested).exists(),
            refused=refused,
        )

    def carry_out(self, order: Order, now: float) -> None:
        """Start or end ranks, as it was decided."""
        if order.run is not None:
            self._start(order.run, now)
        if order.end and self._ranks is not None and self._ranks.alive:
            generation = self._generation
            if order.stacks and generation is not None and not self._stacks_written(self._ranks, generation):
                return
            self._ranks.end(order.grace, now, suspected=not self._ranks.is_ending and self._seems_to_fail(now))

    def _seems_to_fail(self, now: float) -> bool:
        """Whether a rank here ends by itself just now. Word of a rank that has lost it may come before its agent's."""
        attempt, ranks = self._attempt(), self._ranks
        if attempt is None or ranks is None:
            return False
        ended_well = [local for local, one in ranks.gone(now).items() if one.ended_well]
        return ranks_that_end(attempt, {*ranks.below_agent(), *ended_well})

    def _attempt(self) -> str | None:
        """Where the ranks of this generation log; None where their agent has not got so far."""
        attempt = attempt_directory(self._given.ranks_directory)
        return None if attempt == self._attempt_before else attempt

    def abandon(self, now: float) -> None:
        """End everything at once."""
        self._waiting.end()
        if self._ranks is not None:
            self._ranks.end(0.0, now)

    def _start(self, generation: Generation, now: float) -> None:
        given = self._given
        node_rank = generation.indexes.index(given.rules.index)
        if node_rank == 0 and not port_is_free(given.rendezvous_port):
            self._refused_since = self._refused_since or now
            if now - self._refused_since > PORT_S:
                self._refuse(
                    generation,
                    f"rendezvous_port {given.rendezvous_port} is in use on {given.host}; choose "
                    "another port, or stop what uses it.",
                )
            return
        self._refused_since = None
        self._attempt_before = attempt_directory(given.ranks_directory)
        clear_progress(given.progress_directory)
        if given.container_process:
            # The number of the generation before is nobody's, or another program's.
            Path(given.container_process).unlink(missing_ok=True)
        self._progress, self._stepped, self._stacks = Progress(), None, None
        self._refused = self._failure = self._left_at = None
        self._memory_kills.begin(now)
        fence = f"{launch_of(given.key)}:{generation.number}"
        try:
            self._ranks = Ranks(
                generation.number,
                argv_of(given, generation),
                {**self._marked, FENCE: fence},
                self._control_group,
                now,
                processes=given.processes_per_node,
                says_why=self._says_why,
                container_process=given.container_process,
                waiting=self._waiting,
            )
        except OSError as error:
            self._refused_since = now
            self._refuse(generation, f"{given.argv[0]} cannot be run: {error.strerror}")
        self._generation = generation

    def _refuse(self, generation: Generation, said: str) -> None:
        self._ranks = None
        self._generation = generation
        self._refused = agent_failure(1, time.time(), said, self._given.agent_log)

    def _says_why(self, local_rank: int) -> bool:
        attempt = self._attempt()
        return attempt is not None and has_raised(attempt, local_rank)

    def _after_ranks(self, ranks: Ranks, now: float) -> None:
        """Say why they ended, and look at the cards anew."""
        self._fit, self._health = None, None
        if self._generation is None:
            return
        given = self._given
        failures = self._failures(ranks, self._generation, now)
        if ranks.died is None:
            # None has failed here; one that ended well too early is what others may have failed by.
            failures = [failure for failure in failures if failure.echo == LEFT]
        if not failures and (ranks.died is None or ranks.suspected):
            return
        if ranks.suspected and failures[0].echo in (ENDED_BY_AGENT, TOLD_BY_OTHERS):
            # It had ended well, or it was the one that was told to.
            return
        agent = agent_failure(ranks.exit_code or 1, time.time(), ranks.text, given.agent_log)
        failure = failures[0] if failures else agent
        if failure.echo == LEFT:
            self._left_at = ranks.gone(now)[failure.local_rank].since
        self._failure = with_kernel_reason(failure, self._memory_kills.ended(failure), given.log_directory)

    def _failures(self, ranks: Ranks, generation: Generation, now: float) -> list[RankFailure]:
        given, steps, wall = self._given, self._progress.steps, time.time() - now
        gone = {
            local: Exit(wall + one.since, one.ended_well, steps[local] if local < len(steps) else None)
            for local, one in ranks.gone(now).items()
        }
        attempt = self._attempt() or given.ranks_directory
        return torchrun_failures(ranks.text, attempt, self._first_rank(generation), gone)

    def _first_rank(self, generation: Generation) -> int:
        return generation.indexes.index(self._given.rules.index) * self._given.processes_per_node

    def _look_at_cards(self, now: float) -> None:
        """Whenever no ranks are there: once after they ended, and now and then, since who stands by may be taken."""
        if self._ranks is not None and self._ranks.alive:
            return
        if self._health is None or (self._health.reason is not None and now - self._health.started > LOOK_AGAIN_S):
            given = self._given
            arguments = (given.device, given.processes_per_node, self._run, given.kernel_root, given.modules)
            self._health = HealthCheck(lambda: unfit_reason(*arguments), now)
        if self._health.reason is not None:
            self._fit, self._unfit = not self._health.reason, self._health.reason
        elif now - self._health.started > HEALTH_S:
            self._fit, self._unfit = False, f"hl-smi has not responded for {HEALTH_S:.0f} s"

    def _read_progress(self, now: float) -> None:
        if self._ranks is None or not self._ranks.alive:
            return
        progress = read_progress(self._given.progress_directory, self._given.processes_per_node)
        if progress.steps != self._progress.steps and any(step is not None for step in progress.steps):
            self._stepped = now
        self._progress = progress

    def _stacks_written(self, ranks: Ranks, generation: Generation) -> bool:
        """Whether the stacks of this generation are in their files; begins to write them where nobody has."""
        if self._stacks is None:
            what = (ranks, self._first_rank(generation))
            self._stacks = threading.Thread(target=self._write_stacks, args=what, daemon=True)
            self._stacks.start()
        return not self._stacks.is_alive()

    def _write_stacks(self, ranks: Ranks, first_rank: int) -> None:
        given = self._given
        attempt = self._attempt() or given.ranks_directory
        found = ranks_of(os.getpid(), self._waiting.processes)
        stderr = {local: f"{attempt}/{local}/stderr.log" for local in found}
        directory = f"{given.log_directory}/stacks/generation-{ranks.generation}"
        write_stacks(directory, found, first_rank, stderr, given.venv, self._run)


def argv_of(given: Supervision, generation: Generation) -> list[str]:
    """torchrun's words for this node in this generation."""
    names = given.rules.names
    words: Mapping[str, str] = {
        RENDEZVOUS_ID: f"{given.job}-{generation.number}",
        NNODES: str(len(generation.members)),
        NODE_RANK: str(generation.indexes.index(given.rules.index)),
        MASTER_ADDRESS: given.addresses[names[generation.indexes[0]]],
    }
    return [*_handing_over(given, generation), *(words.get(word, word) for word in given.argv)]


def _handing_over(given: Supervision, generation: Generation) -> list[str]:
    """What becomes torchrun once each node has the newest checkpoint; nothing where there is only one node."""
    if not given.checkpoint_directory or len(generation.members) < 2:
        return []
    members = ",".join(map(str, generation.indexes))
    return [sys.executable, *HANDING_OVER, given.file, members]
