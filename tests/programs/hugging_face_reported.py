# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The script beside this one, as one has it who wants its steps on the job's page."""

import hugging_face_trainer
import transformers

from gaudi3_scale import TransformersCallback


class Trainer(transformers.Trainer):
    def __init__(self, *args, **options):
        super().__init__(*args, **options, callbacks=[TransformersCallback()])


hugging_face_trainer.Trainer = Trainer
hugging_face_trainer.main()
