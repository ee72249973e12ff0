# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Lightning's connector makes of the names and plugins for Gaudi, and a run with the CPU in the card's place."""

from __future__ import annotations

import lightning.pytorch as lightning
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel
from lightning.pytorch.plugins import AsyncCheckpointIO, HalfPrecision, MixedPrecision
from lightning.pytorch.plugins.io import TorchCheckpointIO
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

from gaudi3_scale import GaudiAccelerator, GaudiMixedPrecision
from gaudi3_scale.gaudi.checkpoint_io import WholeFileIO
from gaudi3_scale.gaudi.strategies import GaudiDDPStrategy, GaudiFSDP2Strategy, GaudiSingleStrategy

QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}


class AutocastSeen(BoringModel):
    """Notes in each training step whether autocast is on for Gaudi, and in which type."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def training_step(self, batch, batch_idx):
        self.seen.add((torch.is_autocast_enabled("hpu"), torch.get_autocast_dtype("hpu")))
        return super().training_step(batch, batch_idx)


@pytest.mark.parametrize("accelerator", ["hpu", GaudiAccelerator()])
@pytest.mark.parametrize(
    ("strategy", "expected", "ranks"),
    [
        ("habana_ddp", GaudiDDPStrategy, 4),
        ("habana_fsdp2", GaudiFSDP2Strategy, 4),
        (lambda: GaudiDDPStrategy(find_unused_parameters=True), GaudiDDPStrategy, 4),
        ("habana_single", GaudiSingleStrategy, 1),
    ],
)
def test_lightnings_connector_puts_the_parts_together(bridge, accelerator, strategy, expected, ranks):
    strategy = strategy() if callable(strategy) else strategy
    trainer = lightning.Trainer(
        accelerator=accelerator, strategy=strategy, devices=ranks, plugins=[GaudiMixedPrecision()], logger=False
    )
    assert type(trainer.accelerator) is GaudiAccelerator
    assert type(trainer.strategy) is expected
    assert trainer.strategy.accelerator is trainer.accelerator
    assert trainer.strategy.root_device == torch.device("hpu")
    assert (trainer.num_devices, trainer.world_size) == (ranks, ranks)
    assert type(trainer.precision_plugin) is GaudiMixedPrecision
    assert trainer.precision == "bf16-mixed"


def test_all_cards_are_taken_where_no_number_is_given(bridge):
    trainer = lightning.Trainer(accelerator="hpu", strategy="habana_ddp", num_nodes=2, logger=False)
    assert (trainer.num_devices, trainer.world_size) == (8, 16)


def test_lightning_2_6_still_refuses_the_name_without_a_strategy(bridge):
    """The documentation says so; where this fails, it can be simplified."""
    with pytest.raises(MisconfigurationException, match="HPU is currently not supported"):
        lightning.Trainer(accelerator="hpu", devices=1)


@pytest.mark.parametrize("strategy", ["habana_ddp", "habana_fsdp2", "habana_single"])
@pytest.mark.parametrize(
    ("precision", "plugin"), [("bf16-mixed", MixedPrecision), ("bf16-true", HalfPrecision), ("32-true", None)]
)
def test_lightnings_own_precisions_are_those_of_gaudi(bridge, strategy, precision, plugin):
    trainer = lightning.Trainer(accelerator="hpu", strategy=strategy, devices=1, precision=precision, logger=False)
    assert trainer.precision == precision
    assert plugin is None or type(trainer.precision_plugin) is plugin
    if plugin is MixedPrecision:
        autocast = trainer.precision_plugin.autocast_context_manager()
        assert (autocast.device, autocast.fast_dtype) == ("hpu", torch.bfloat16)


def test_fp16_is_refused(bridge):
    with pytest.raises(MisconfigurationException, match=r"^precision='16-mixed': .* use 'bf16-mixed' on Gaudi"):
        lightning.Trainer(accelerator="hpu", strategy="habana_ddp", devices=1, precision="16-mixed")
    with pytest.raises(ValueError, match=r"^precision='16-mixed': choose one of bf16-mixed, 32-true\.$"):
        GaudiMixedPrecision("16-mixed")


@pytest.mark.parametrize(
    ("choice", "seen"),
    [
        ({"precision": "bf16-mixed"}, (True, torch.bfloat16)),
        ({"plugins": [GaudiMixedPrecision()]}, (True, torch.bfloat16)),
        ({"plugins": [GaudiMixedPrecision("32-true")]}, (False, torch.bfloat16)),
        ({}, (False, torch.bfloat16)),
    ],
)
def test_the_training_step_runs_in_the_precision_that_was_asked_for(cpu_as_card, tmp_path, choice, seen):
    model = AutocastSeen()
    trainer = lightning.Trainer(
        accelerator="hpu",
        strategy=GaudiSingleStrategy("cpu"),
        devices=1,
        max_steps=2,
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        **choice,
        **QUIET,
    )
    trainer.fit(model)
    assert {enabled for enabled, _ in model.seen} == {seen[0]}
    if seen[0]:
        assert model.seen == {seen}


@pytest.mark.parametrize(("strategy", "plain"), [("habana_ddp", "ddp"), (GaudiSingleStrategy("cpu"), "auto")])
def test_a_run_learns_what_lightnings_own_strategy_learns(cpu_as_card, tmp_path, strategy, plain):
    weights = []
    for parts in ({"accelerator": "hpu", "strategy": strategy}, {"accelerator": "cpu", "strategy": plain}):
        lightning.seed_everything(7)
        model = BoringModel()
        trainer = lightning.Trainer(
            **parts,
            devices=1,
            max_steps=5,
            limit_val_batches=2,
            num_sanity_val_steps=0,
            default_root_dir=tmp_path,
            enable_checkpointing=False,
            **QUIET,
        )
        trainer.fit(model)
        weights.append(model.layer.weight.detach().clone())
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    assert torch.equal(*weights)


def test_each_pass_ends_the_lazy_graph(cpu_as_card, tmp_path):
    trainer = lightning.Trainer(
        accelerator="hpu",
        strategy=GaudiSingleStrategy("cpu"),
        devices=1,
        default_root_dir=tmp_path,
        max_epochs=1,
        limit_train_batches=6,
        limit_val_batches=0,
        accumulate_grad_batches=2,
        limit_test_batches=5,
        limit_predict_batches=4,
        enable_checkpointing=False,
        **QUIET,
    )
    ends = cpu_as_card("core").ENDS
    trainer.fit(BoringModel())
    assert len(ends) == 6 + 3, "each backward pass, and each step of the optimizer"
    for number, run in ((5, trainer.test), (4, trainer.predict), (6, trainer.validate)):
        ends.clear()
        trainer.limit_val_batches = 6
        run(BoringModel())
        assert len(ends) == number


@pytest.mark.parametrize("strategy", [GaudiDDPStrategy, GaudiFSDP2Strategy, GaudiSingleStrategy])
def test_checkpoints_are_whole_and_off_the_card_by_default(strategy):
    assert isinstance(strategy().checkpoint_io, WholeFileIO)
    chosen, wrapped = strategy(), strategy()
    chosen.checkpoint_io = plain = TorchCheckpointIO()
    assert chosen.checkpoint_io is plain
    wrapped.checkpoint_io = AsyncCheckpointIO()
    assert isinstance(wrapped.checkpoint_io.checkpoint_io, WholeFileIO)


def test_a_run_goes_on_from_lightnings_own_checkpoint(cpu_as_card, tmp_path):
    def fit(steps, **options):
        trainer = lightning.Trainer(
            accelerator="hpu",
            strategy="habana_ddp",
            devices=1,
            max_steps=steps,
            default_root_dir=tmp_path,
            callbacks=[ModelCheckpoint(tmp_path, "at-{step}", every_n_train_steps=3)],
            **QUIET,
        )
        trainer.fit(BoringModel(), **options)
        return trainer

    fit(3)
    assert fit(5, ckpt_path=tmp_path / "at-step=3.ckpt", weights_only=True).global_step == 5


def test_a_communication_hook_is_registered(cpu_as_card, tmp_path):
    """Lightning's own DDP drops it on every device but CUDA."""
    calls = []

    def hook(state, bucket):
        calls.append(state)
        return bf16_compress_hook(state, bucket)

    trainer = lightning.Trainer(
        accelerator="hpu",
        strategy=GaudiDDPStrategy(ddp_comm_hook=hook),
        devices=1,
        max_steps=3,
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        **QUIET,
    )
    trainer.fit(BoringModel())
    assert calls == [None] * 3
