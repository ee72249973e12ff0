# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The accelerator against what Lightning asks of one: its methods, its registry, and its connector."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys

import lightning.pytorch as lightning
import pytest
import torch
from lightning.pytorch.accelerators import Accelerator, AcceleratorRegistry, CUDAAccelerator
from lightning.pytorch.demos.boring_classes import BoringModel
from lightning.pytorch.strategies import StrategyRegistry
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from gaudi3_scale.gaudi.accelerator import GaudiAccelerator
from gaudi3_scale.gaudi.strategies import GaudiDDPStrategy, GaudiFSDP2Strategy, GaudiSingleStrategy

METHODS = sorted(name for name, value in vars(CUDAAccelerator).items() if hasattr(Accelerator, name) and name[0] != "_")
NO_BRIDGE = pytest.mark.skipif(
    importlib.util.find_spec("habana_frameworks") is not None, reason="this machine has Gaudi's bridge"
)


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_as_lightning_calls_it(name):
    """Measured against the accelerator that Lightning itself ships, whose methods its trainer calls."""
    ours, theirs = (inspect.getattr_static(cls, name) for cls in (GaudiAccelerator, CUDAAccelerator))
    assert type(ours) is type(theirs)
    assert ours is not inspect.getattr_static(Accelerator, name)
    bound = [getattr(cls, name) for cls in (GaudiAccelerator, CUDAAccelerator)]
    assert list(inspect.signature(bound[0]).parameters) == list(inspect.signature(bound[1]).parameters)


def test_nothing_abstract_is_left():
    assert GaudiAccelerator.__abstractmethods__ == frozenset()
    assert set(Accelerator.__abstractmethods__) <= set(METHODS)


def test_lightning_finds_everything_by_name():
    assert type(AcceleratorRegistry.get("hpu")) is GaudiAccelerator
    assert type(StrategyRegistry.get("habana_ddp")) is GaudiDDPStrategy
    assert type(StrategyRegistry.get("habana_fsdp2")) is GaudiFSDP2Strategy
    assert type(StrategyRegistry.get("habana_single")) is GaudiSingleStrategy


@pytest.mark.parametrize(
    "statement",
    [
        # The last one imports no accelerator by itself.
        pytest.param("from gaudi3_scale import GaudiAccelerator", marks=pytest.mark.long),
        pytest.param("from gaudi3_scale import GaudiOptimizer", marks=pytest.mark.long),
        "from gaudi3_scale.gaudi.precision import GaudiMixedPrecision",
    ],
)
def test_each_import_that_a_user_begins_with_registers_the_names(statement):
    program = (
        "import sys, gaudi3_scale, gaudi3_scale.core._errors\n"
        "assert not {'torch', 'lightning'} & set(sys.modules), 'the core needs neither'\n"
        f"{statement}\n"
        "from lightning.pytorch.accelerators import AcceleratorRegistry\n"
        "from lightning.pytorch.strategies import StrategyRegistry\n"
        "print('hpu' in AcceleratorRegistry, 'habana_ddp' in StrategyRegistry)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.stdout.split(), ended.stderr) == (["True", "True"], "")


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    import gaudi3_scale

    with pytest.raises(AttributeError, match="has no attribute 'GaudiProfiler'"):
        _ = gaudi3_scale.GaudiProfiler


@pytest.mark.parametrize(("devices", "count"), [(1, 1), (8, 8), ("4", 4), (-1, 8), ("-1", 8)])
def test_devices_is_a_number_of_cards(bridge, devices, count):
    assert GaudiAccelerator.parse_devices(devices) == count
    assert GaudiAccelerator.get_parallel_devices(count) == [torch.device("hpu")] * count


@pytest.mark.parametrize(
    ("devices", "sentence"),
    [
        (9, r"^devices=9: this node shows 8 cards; give a number from 1 to 8, or -1 for all\.$"),
        (0, r"^devices=0: this node shows 8 cards"),
        (-2, r"^devices=-2: this node shows 8 cards"),
        ("all", r"^devices='all': this node shows 8 cards"),
        (None, r"^devices=None: this node shows 8 cards"),
        ([0, 3], r"^devices=\[0, 3\]: .* name the cards themselves in HABANA_VISIBLE_MODULES\.$"),
        ("0,3", r"^devices='0,3': this node shows 8 cards"),
    ],
)
def test_devices_that_are_no_such_number_are_refused(bridge, devices, sentence):
    with pytest.raises(MisconfigurationException, match=sentence):
        GaudiAccelerator.parse_devices(devices)


def test_a_node_without_cards_has_no_accelerator(bridge, monkeypatch):
    assert GaudiAccelerator.is_available()
    assert GaudiAccelerator.auto_device_count() == 8
    monkeypatch.setattr(bridge("hpu"), "CARDS", 0)
    assert not GaudiAccelerator.is_available()


@NO_BRIDGE
@pytest.mark.parametrize("accelerator", ["hpu", GaudiAccelerator()])
def test_without_the_bridge_lightning_says_that_it_cannot_run(accelerator):
    assert not GaudiAccelerator.is_available()
    with pytest.raises(MisconfigurationException, match="`GaudiAccelerator` can not run on your system"):
        lightning.Trainer(accelerator=accelerator, strategy="habana_ddp", devices=1)


def test_the_allocators_numbers_are_the_device_stats(bridge):
    stats = GaudiAccelerator().get_device_stats(torch.device("hpu"))
    assert stats["MaxInUse"] > stats["InUse"]


def test_a_run_that_lightning_would_put_on_the_cpu_is_refused(bridge):
    trainer = lightning.Trainer(accelerator=GaudiAccelerator(), devices=1, max_steps=1, logger=False)
    with pytest.raises(MisconfigurationException, match=r"was given the device cpu.*'habana_ddp', 'habana_fsdp2'"):
        trainer.fit(BoringModel())


@pytest.mark.parametrize("strategy", ["single_device", "ddp"])
def test_lightnings_own_strategies_are_refused(cpu_as_card, strategy, tmp_path):
    trainer = lightning.Trainer(
        accelerator="hpu", strategy=strategy, devices=1, max_steps=1, logger=False, default_root_dir=tmp_path
    )
    with pytest.raises(MisconfigurationException, match="Strategy does not know Gaudi; give the Trainer one of"):
        trainer.fit(BoringModel())
