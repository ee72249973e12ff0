# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a step line tells of the model and the card beside the loss and the time."""

from __future__ import annotations

import json

import pytest
import torch

from forked_ranks import ends_of, said_in, start_script
from gaudi3_scale.core._cards.peak_rates import PeakRate
from gaudi3_scale.metrics.bridge_counters import bridge_counters, counters_file
from gaudi3_scale.metrics.exposed_communication import by_events, exposed_communication
from gaudi3_scale.metrics.memory_parts import StateBytes, memory_parts, state_bytes
from gaudi3_scale.metrics.model_flops import FORWARDS_OF_STEP, flops_of_window
from gaudi3_scale.metrics.utilization import Utilization, peak_of_card, share_or_reason
from gaudi3_scale.models.language_model import LanguageModel, ModelShape

LENGTH = 32
SHAPE = ModelShape(layers=2, width=64, heads=4, sequence_length=LENGTH, vocabulary=100)


def by_hand(model, width, layers):
    """Two operations for each weight of a matrix that a token meets, and attention's two products."""
    matrices = sum(
        weight.numel()
        for name, weight in model.named_parameters()
        if weight.dim() == 2 and not name.startswith(("tokens", "places", "model.embed"))
    )
    return FORWARDS_OF_STEP * (2 * matrices * LENGTH + layers * 4 * LENGTH * LENGTH * width)


def test_the_operations_follow_from_the_shapes():
    before = torch.get_rng_state()
    assert flops_of_window(lambda: LanguageModel(SHAPE), LENGTH) == by_hand(LanguageModel(SHAPE), 64, 2)
    torch.manual_seed(0)
    drawn = torch.get_rng_state()
    flops_of_window(lambda: LanguageModel(SHAPE), LENGTH)
    # What a training draws afterwards is what it would have drawn.
    assert torch.equal(torch.get_rng_state(), drawn)
    torch.set_rng_state(before)


def test_those_of_a_model_of_hugging_face_too_and_of_experts_none():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
    llama = transformers.LlamaConfig(intermediate_size=128, num_key_value_heads=2, **sizes)
    build = transformers.AutoModelForCausalLM.from_config
    assert flops_of_window(lambda: build(llama), LENGTH) == by_hand(build(llama), 64, 2)
    mixtral = transformers.MixtralConfig(intermediate_size=128, num_key_value_heads=2, num_local_experts=4, **sizes)
    assert flops_of_window(lambda: build(mixtral), LENGTH) is None


class AsksForValues(torch.nn.Module):
    def forward(self, tokens):
        return tokens[tokens > 0].sum().item()


def test_what_depends_on_values_has_none():
    assert flops_of_window(AsksForValues, LENGTH) is None


def test_a_share_above_the_peak_is_refused_with_both_figures():
    made = Utilization(5e14, PeakRate("HL-225", "bf16", 432.0, "a page"))
    assert share_or_reason(made, 2.0) == (pytest.approx(2.5e14 / 432e12), "")
    share, reason = share_or_reason(made, 0.5)
    assert share is None
    assert "231 % of the peak of HL-225 in bf16, 432 TFLOPS by a page" in reason
    assert "--peak-tflops" in reason


def test_the_operators_figure_stands_before_the_tables():
    assert peak_of_card("HL-225", "bf16", None).tflops == 432
    assert peak_of_card("HL-225", "bf16", 400.0).tflops == 400
    assert peak_of_card("", "fp32", None) is None


def test_memory_by_part():
    model = torch.nn.Linear(100, 10)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 100)).sum().backward()
    optimizer.step()
    state = state_bytes(model, optimizer)
    # AdamW also counts its steps, once a tensor.
    assert state == StateBytes(weights=4040, gradients=4040, optimizer=8080 + 2 * 4)
    parts = memory_parts(state, in_use=20_000, peak=50_000)
    assert (parts["activations"], sum(parts.values())) == (30_000, 50_000)
    # On a host that has swapped some of it out, no part is less than nothing.
    assert min(memory_parts(state, in_use=100, peak=50).values()) == 0


def entry(name, **statistics):
    return {"metric_name": name, "triggered_by": "metric_change", "generated_on": "now", "statistics": statistics}


def test_the_newest_counters_of_the_bridge_also_of_a_file_that_is_cut_off(tmp_path):
    path = counters_file({"PT_HPU_METRICS_FILE": str(tmp_path / "metrics.json"), "RANK": "3"})
    assert path == tmp_path / "metrics-rank3.json"
    assert bridge_counters(path) == {}
    told = [
        entry("graph_compilation", TotalNumber=4, TotalTime=99, AvgTime=1.5),
        entry("recipe_cache", TotalHit=7, TotalMiss=2),
        entry("graph_compilation", TotalNumber=6, Recipes=[{"name": "a"}] * 3),
    ]
    whole = json.dumps(told, indent=1)
    expected = {"graph_compilations": 6, "recipe_cache_hits": 7, "recipe_cache_misses": 2}
    path.write_text(whole)
    assert bridge_counters(path) == expected
    # A process that was killed leaves no end, and a new entry may be half written.
    path.write_text(f'{whole[:-1]}, {{"metric_name": "graph_compilation", "statistics": {{"TotalNumber": 9')
    assert bridge_counters(path) == expected
    # Of a long file the end is read.
    path.write_text("[" + json.dumps(entry("memory_defragmentation", padding="x" * 300_000)) + "," + whole[1:])
    assert bridge_counters(path) == expected
    path.write_text(json.dumps([entry("graph_compilation", TotalNumber="many"), entry("recipe_cache", TotalHit=-1), 5]))
    assert bridge_counters(path) == {}
    path.unlink()
    path.mkdir()
    assert bridge_counters(path) == {}
    assert counters_file({}) is None


COMMUNICATES = """
import json, os, sys, time
import torch, torch.distributed as distributed
from gaudi3_scale.metrics.clocked_steps import communication_seconds, sample_communication
from gaudi3_scale.metrics.exposed_communication import by_the_clock
distributed.init_process_group("gloo")
rank = distributed.get_rank()
layers = [torch.nn.Linear(64, 64) for _layer in range(4)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), gradient_as_bucket_view=True)
sample_communication(model, True)
exposed, found = by_the_clock(), []
# In its second forward pass DDP orders its buckets anew, for which the ranks wait for each other.
for late in (0.0, 0.0, 0.1, 0.1):
    time.sleep(late * rank)
    loss = model(torch.ones(4, 64)).sum()
    exposed.watch(loss)
    loss.backward()
    exposed.over()
    found.append((exposed.seconds(), communication_seconds(model)))
if rank == 0:
    open(sys.argv[1], "w").write(json.dumps(found))
distributed.barrier()
# As run_rank ends a rank: nothing waits for the other's sockets.
os._exit(0)
"""


def test_the_wait_for_other_ranks_is_as_ddps_own_timers_have_it(tmp_path):
    script, result = tmp_path / "communicates.py", tmp_path / "found.json"
    script.write_text(COMMUNICATES)
    ranks = start_script(tmp_path, script, result)
    assert ends_of(ranks) == [0, 0], said_in(tmp_path)
    for ours, theirs in json.loads(result.read_text())[2:]:
        assert 0.05 < ours < 10
        assert ours == pytest.approx(theirs, abs=0.03)


class Event:
    """As the bridge has them: the moment is known when the device has come there."""

    moments = iter((1000.0, 1250.0))

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = next(self.moments)

    def elapsed_time(self, later):
        return later.at - self.at


def test_events_are_in_milliseconds_and_a_pass_nobody_watched_has_none():
    exposed = by_events(Event)
    assert exposed.seconds() is None
    loss = torch.ones(2, requires_grad=True).sum()
    exposed.watch(loss)
    loss.backward()
    exposed.over()
    assert exposed.seconds() == 0.25


@pytest.mark.parametrize(("lazy", "watched"), [("0", True), ("1", False)])
def test_on_gaudi_the_marks_are_the_bridges_events_but_in_lazy_mode(bridge, monkeypatch, lazy, watched):
    hpu = bridge("hpu")
    monkeypatch.setenv("PT_HPU_LAZY_MODE", lazy)
    monkeypatch.setattr(hpu, "Event", Event, raising=False)
    ddp = torch.nn.parallel.DistributedDataParallel.__new__(torch.nn.parallel.DistributedDataParallel)
    card = torch.device("hpu")
    assert (exposed_communication(card, ddp) is not None) == watched
    assert exposed_communication(card, torch.nn.Linear(1, 1)) is None
    assert exposed_communication(torch.device("cpu"), ddp) is None
    monkeypatch.delattr(hpu, "Event")
    assert exposed_communication(card, ddp) is None


@pytest.fixture
def steps(train_here):
    """The step lines of a training with these options."""

    def run(*options, job="job"):
        lines = train_here("--max-steps", 3, "--loggers", "none", "--checkpoint-every", 0, *options, job=job)
        return [line for line in lines if line["kind"] == "step"], lines

    return run


def test_a_step_line_has_norm_samples_and_memory_by_part(steps):
    # Of a limit that none reaches the norm is the same as without one.
    clipped, _lines = steps("--clip", 1e6, job="clipped")
    free, _lines = steps("--clip", 0, job="free")
    assert [line["gradient_norm"] for line in free] == [line["gradient_norm"] for line in clipped]
    # Before clipping: with this limit the norm of the first step is as it was.
    tight, lines = steps("--clip", 1e-3, job="tight")
    assert tight[0]["gradient_norm"] == free[0]["gradient_norm"] > 0.1
    for line in tight[1:]:
        assert line["samples_per_second"] == pytest.approx(line["tokens_per_second"] / 32, rel=0.01)
        parts = line["memory_parts"]
        assert parts["weights"] == parts["gradients"] == 4 * lines[0]["parameters"]
        assert parts["optimizer"] == pytest.approx(2 * parts["weights"], rel=0.01)
        assert sum(parts.values()) == pytest.approx(line["memory_bytes"], rel=0.01)
        # The CPU has no peak in the table.
        assert "mfu" not in line


def test_a_peak_that_is_given_makes_a_share_and_one_that_cannot_be_is_refused_once(steps):
    shared, lines = steps("--peak-tflops", 0.1, job="shared")
    assert shared[0]["mfu"] is None
    a_step = 8 * flops_of_window(lambda: LanguageModel(ModelShape(1, 32, 2, 32)), 32)
    for line in shared[1:]:
        assert line["mfu"] > 0
        assert line["mfu"] == pytest.approx(a_step / line["seconds"]["step"] / 1e11, abs=1e-4)
    assert "warning" not in {line["kind"] for line in lines}
    refused, lines = steps("--peak-tflops", 1e-6, job="refused")
    assert {line["mfu"] for line in refused} == {None}
    (warning,) = [line for line in lines if line["kind"] == "warning"]
    assert "which cannot be; it is not shown" in warning["message"]
