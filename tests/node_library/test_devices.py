# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib.util

import pytest
import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import choose_device, compile_backend, load_collectives, local_device


def test_a_device_that_is_not_here_is_one_sentence():
    with pytest.raises(
        GaudiError, match=r"^--device tpu: there is no such device; choose one of auto, hpu, cuda, cpu\.$"
    ):
        choose_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(GaudiError, match=r"^--device cuda: this PyTorch sees no CUDA device"):
            choose_device("cuda")
    if importlib.util.find_spec("habana_frameworks") is None:
        with pytest.raises(GaudiError, match=r"^--device hpu: habana_frameworks is not in this Python"):
            choose_device("hpu")


def test_a_cpu_is_always_there():
    assert choose_device("cpu") == "cpu"
    assert local_device("cpu", 3) == torch.device("cpu")
    assert load_collectives("cpu") == "gloo"
    assert compile_backend("cpu") == "inductor"


def test_auto_is_the_best_that_can_be_used():
    assert choose_device("auto") == choose_device(choose_device("auto"))
    if not torch.cuda.is_available() and importlib.util.find_spec("habana_frameworks") is None:
        assert choose_device("auto") == "cpu"
