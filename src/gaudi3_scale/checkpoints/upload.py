# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints go up to S3 in the background, again and again until they are there; the training never waits."""

from __future__ import annotations

import logging
import queue
import threading
import time
from pathlib import Path
from typing import Any, Sequence

from gaudi3_scale.checkpoints.bucket import Bucket
from gaudi3_scale.checkpoints.fence import FenceError
from gaudi3_scale.checkpoints.files import Retention, checkpoint_path, found_in

LOG = logging.getLogger(__name__)
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0


class Upload:
    """A thread that sees to it that ``bucket`` has the newest whole checkpoint of ``directory``, and every kept one.

    Where checkpoints are made faster than they go up, the newest is next, and those between are left out.
    """

    def __init__(self, bucket: Bucket, directory: Path, retention: Retention) -> None:
        self._bucket = bucket
        self._directory = directory
        self._retention = retention
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._wake = threading.Condition()
        self._looked = True
        self._idle = False
        self._busy: int | None = None
        self._given_up = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gaudi3_scale upload", daemon=True)
        self._thread.start()

    def busy_with(self) -> int | None:
        """The step that is going up: it has to stay on the disk meanwhile."""
        return self._busy

    def look(self) -> None:
        """There may be something new."""
        with self._wake:
            self._looked = True
            self._wake.notify_all()

    def lines(self) -> list[dict[str, Any]]:
        """What happened since the last call, as fields of metric lines."""
        happened = []
        while not self._lines.empty():
            happened.append(self._lines.get())
        return happened

    def finish(self, seconds: float) -> None:
        """Wait until all is there, at most so long; what is not goes up in the next run of the job."""
        with self._wake:
            there = self._wake.wait_for(lambda: self._given_up or (self._idle and not self._looked), timeout=seconds)
        self.end()
        if not there:
            text = f"what {self._directory} has is not all in {self._bucket.url} yet; the job's next run uploads it"
            LOG.warning("gaudi3_scale: %s.", text)
            self._lines.put({"state": "left", "message": text})

    def end(self) -> None:
        """Nothing more is begun: the training is over, whatever ended it."""
        with self._wake:
            self._ending.set()
            self._wake.notify_all()

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.wait(pause):
            with self._wake:
                self._wake.wait_for(lambda: self._looked or self._ending.is_set())
                if self._ending.is_set():
                    return
                self._looked = False
                self._idle = False
            try:
                pause = self._all(pause)
            except FenceError as error:
                self._give_up(str(error))
                return
            with self._wake:
                self._looked = self._looked or pause > 0
                self._idle = not self._looked
                self._wake.notify_all()

    def _give_up(self, why: str) -> None:
        """The training goes on: what lies in a bucket ends none, since others than the job may write there."""
        LOG.warning("gaudi3_scale: %s Nothing more is uploaded.", why)
        self._lines.put({"state": "left", "message": why})
        with self._wake:
            self._given_up = True
            self._wake.notify_all()

    def _all(self, pause: float) -> float:
        """Upload until nothing is left; returns the seconds to wait before trying again, or 0.

        FenceError where a later generation of the ranks uploads.
        """
        step: int | None = None
        try:
            self._bucket.hold_fence()
            while (step := self._next()) is not None and not self._ending.is_set():
                self._busy = step
                began = time.perf_counter()
                size = self._bucket.upload(checkpoint_path(self._directory, step))
                seconds = round(time.perf_counter() - began, 3)
                self._lines.put(
                    {"state": "done", "step": step, "url": self._bucket.url, "bytes": size, "seconds": seconds}
                )
                self._busy = None
                self._bucket.remove_surplus(self._retention)
        except FenceError:
            raise
        # Whatever a library raises: a thread that ended would upload nothing more, and the training would wait for it.
        except Exception as error:
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2 or FIRST_PAUSE_SECONDS)
            text = f"{type(error).__name__}: {error}"
            LOG.warning(
                "gaudi3_scale: upload to %s failed and is tried again in %.0f s: %s", self._bucket.url, pause, text
            )
            self._lines.put(
                {"state": "retry", "step": step, "url": self._bucket.url, "message": text, "retry_seconds": pause}
            )
            return pause
        finally:
            self._busy = None
        return 0.0

    def _next(self) -> int | None:
        return next_step(list(found_in(self._directory)[0]), self._bucket.steps(), self._retention)


def next_step(local: Sequence[int], remote: Sequence[int], retention: Retention) -> int | None:
    """The step to upload next, or None: the newest, then from the newest down those that are kept for ever."""
    newest = max(local, default=None)
    if newest is not None and newest > max(remote, default=-1):
        return newest
    kept = [step for step in local if retention.every and step % retention.every == 0 and step not in remote]
    return max(kept, default=None)
