# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job that is told to stop stops at once."""

from __future__ import annotations

import signal

import lightning.pytorch as lightning


class StopAtOnce(lightning.Callback):
    """Gives SIGTERM back its own meaning: the process ends, and what it computed since its last checkpoint is lost.

    Lightning 2.6 answers SIGTERM with a broadcast in the middle of whatever collective is running, which can wait for
    ranks that are already gone, and asks all ranks before every batch whether one was signalled, which waits for the
    device each time (lightning/pytorch: signal_connector.py ``_sigterm_notifier_fn``, training_epoch_loop.py
    ``_broadcast_sigterm_tensor``). Checkpoints are written whole or not at all, so nothing needs to be finished.
    """

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]
