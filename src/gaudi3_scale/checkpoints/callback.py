# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When a training writes checkpoints, what it tells of them, and that it stops with one when it is told to stop."""

from __future__ import annotations

import logging
import time
from typing import Any

import lightning.pytorch as lightning

from gaudi3_scale.checkpoints.gathered_parts import restore_from_parts
from gaudi3_scale.checkpoints.memory_copies import MemoryCopies
from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.checkpoints.resume import Resume
from gaudi3_scale.checkpoints.saver import BackgroundSaver, Saved
from gaudi3_scale.checkpoints.state import is_sharded, restore, state_of
from gaudi3_scale.checkpoints.upload import Upload
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.stop_together import Agreement, StopSignal

LOG = logging.getLogger(__name__)


UPLOAD_SECONDS_AT_END = 600.0
UPLOAD_SECONDS_WHEN_STOPPED = 10.0
"""What stops a job kills it when it takes too long; what did not go up then goes up in the next run."""
AGAIN_AT_END_S = (5.0, 20.0)
"""After so long the state that a training ended with is written again, where no directory took it."""


class Checkpoints(lightning.Callback):
    """Goes on from ``resume``, and saves every ``every`` steps, at the last step, and where it is told to stop.

    With ``every`` 0 it writes none, also not at its end. With ``background`` false the training waits for each save.
    ``upload`` is for the first rank alone; ``memory`` gets copies of the steps between.
    """

    def __init__(
        self,
        place: Place,
        saver: BackgroundSaver,
        every: int,
        write: WriteLine,
        resume: Resume,
        upload: Upload | None = None,
        background: bool = True,
        memory: MemoryCopies | None = None,
    ) -> None:
        self._place = place
        self._saver = saver
        self._every = every
        self._write = write
        self._resume = resume
        self._upload = upload
        self._background = background
        self._memory = memory
        self._signal = StopSignal()
        self._agreement = Agreement(place.everyone, questions=3)
        self._troubles: list[Saved] = []
        self._newest: Saved | None = None
        self._last_state: dict[str, Any] | None = None
        self._step = 0
        self.stopped = False
        """Whether SIGTERM ended the training."""

    @property
    def start(self) -> int:
        """The step to go on from."""
        return self._resume.step

    @property
    def resumed_copy(self) -> str | None:
        """Where what it goes on from was: ``memory`` or ``disk``."""
        if self._resume.path is None:
            return None
        return "memory" if self._resume.memory else "disk"

    def finish(self) -> None:
        """The job has ended well: memory is given back, and what is not in the bucket yet has some time to get there.

        Collective.
        """
        if self._memory:
            self._memory.remove()
        if self._upload:
            self._upload.finish(UPLOAD_SECONDS_WHEN_STOPPED if self.stopped else UPLOAD_SECONDS_AT_END)
            self._tell_upload(self._upload)

    def on_fit_start(self, trainer: lightning.Trainer, *_: object) -> None:
        resume = self._resume
        if resume.parts:
            restore_from_parts(trainer, resume.parts)
        elif resume.path:
            restore(trainer, resume.path, (resume.memory or self._place).group)
        if self._place.directories > 1 and is_sharded({"model": dict(trainer.lightning_module.named_parameters())}):
            raise GaudiError(
                f"--job-dir: a model that is sharded over all ranks needs one directory of checkpoints that every node "
                f"sees, and {self._place.directory} is {self._place.directories}; name one on a shared file system."
            )

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._signal.install(trainer)
        self._step = trainer.global_step

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: object) -> None:
        if trainer.global_step == self._step:
            return
        self._step = step = trainer.global_step
        self._tell_ended()
        last = step == trainer.max_steps
        stop, trouble, copies = self._agreement.after_step(
            self._signal.received, bool(self._troubles), self._memory.answer() if self._memory else 0
        )
        if trouble:
            self._tell_troubles()
        if stop and not last:
            self.stopped = True
            trainer.should_stop = True
        if self._every and (step % self._every == 0 or last or stop):
            self._save(trainer, step)
        elif self._memory:
            self._memory.after_step(trainer, copies)

    def on_train_end(self, *_: object) -> None:
        # What the last step said is an answer that every rank has to take.
        self._agreement.last()
        self._tell_ended(wait=True)
        unkept = self._unkept()
        for pause in () if self.stopped else AGAIN_AT_END_S:
            if unkept and self._last_state:
                self._tell_troubles(f"it is tried again in {pause:.0f} s")
                time.sleep(pause)
                self._saver.begin(self._step, self._last_state)
                self._tell_ended(wait=True)
                unkept = self._unkept()
        self._tell_troubles("the training has ended")
        if unkept:
            # It is lost, and the job would seem to have succeeded.
            failure, directory = unkept
            raise GaudiError(
                f"no checkpoint of step {self._step}, with which the training ended, could be written to {directory}: "
                f"{failure}; make room there, or name another --job-dir, and launch again."
            )

    def on_exception(self, *_: object) -> None:
        if self._upload:
            self._upload.end()

    def _save(self, trainer: lightning.Trainer, step: int) -> None:
        self._tell_ended(wait=True)
        state = state_of(trainer)
        # Of the tensors themselves; Lightning has left its loops when it may be wanted again.
        self._last_state = state if step == trainer.max_steps else None
        self._saver.begin(step, state)
        if not self._background:
            self._tell_ended(wait=True)

    def _tell_ended(self, wait: bool = False) -> None:
        saved = self._saver.ended(wait)
        self._newest = saved or self._newest
        if saved and saved.failure and self._place.leads:
            self._troubles.append(saved)
        elif saved and not saved.failure:
            self._write(
                "checkpoint",
                step=saved.step,
                path=str(saved.path),
                bytes=saved.bytes,
                seconds=round(saved.seconds, 3),
                blocked_seconds=round(saved.blocked_seconds, 3),
            )
            if self._upload:
                self._upload.look()
        if self._upload:
            self._tell_upload(self._upload)

    def _unkept(self) -> tuple[str, str] | None:
        """Collective: the first failure and its directory where none has the newest state, the same on every rank."""
        newest = self._newest
        everyones = self._place.gather((newest.failure, str(newest.path.parent)) if newest else None)
        reported = [(failure or "", directory) for failure, directory in filter(None, everyones)]
        return reported[0] if reported and all(failure for failure, _directory in reported) else None

    def _tell_upload(self, upload: Upload) -> None:
        for line in upload.lines():
            self._write("upload", **line)

    def _tell_troubles(self, then: str = "training continues, and the next one is tried") -> None:
        """Collective: the first rank writes the lines, whichever node's disk it was."""
        everyones = self._place.gather([(saved.step, str(saved.path), saved.failure) for saved in self._troubles])
        for saved in self._troubles:
            LOG.warning(
                "gaudi3_scale: no checkpoint of step %s: %s; %s.",
                saved.step,
                saved.failure,
                then,
            )
        self._troubles = []
        for rank, troubles in enumerate(everyones):
            for step, path, failure in troubles:
                self._write("checkpoint_failed", step=step, rank=rank, path=path, message=failure)
