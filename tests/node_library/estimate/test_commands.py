# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3_scale estimate`` as it is typed, and what the trainer refuses before it builds a model."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from gaudi3_scale.__main__ import main, parse_command
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.estimate import before_start
from gaudi3_scale.estimate.commands import parse
from gaudi3_scale.estimate.estimate import estimate_of, estimate_of_workload
from gaudi3_scale.models.language_model import LanguageModel, ModelShape
from gaudi3_scale.ranks import Ranks

SMALL = ["--layers", "2", "--width", "64", "--heads", "4", "--sequence-length", "64", "--precision", "fp32"]


def estimated(*options: object):
    return estimate_of(parse([*SMALL, *map(str, options)]))


def told(capsys, *options: object) -> tuple[str, dict]:
    """How the command ended, and its JSON."""
    given = parse_command(["estimate", "--json", *SMALL, *map(str, options)])
    try:
        ended = str(given.run(given))
    except GaudiError as error:
        ended = str(error)
    return ended, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["estimate", "--width", "65", "--heads", "4"], "estimate"),
        (["data", "check", "--data", "/nothing"], "training"),
        (["nothing"], "training"),
        ([], "training"),
    ],
)
def test_what_it_refuses_leads_on(capsys, monkeypatch, words, page):
    monkeypatch.setattr(sys, "argv", ["gaudi3_scale", *words])
    assert main() == 1
    sentence, see = capsys.readouterr().err.splitlines()
    assert sentence.startswith("gaudi3_scale: ")
    assert see.startswith(f"See docs/{page}.md in https://")


@pytest.fixture
def llama(tmp_path):
    """A configuration and nothing else: 70 billion weights, which nobody reads."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
    transformers.LlamaConfig(vocab_size=128256, num_key_value_heads=8, **sizes).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


def test_state_is_that_of_the_model():
    weights = sum(parameter.nbytes for parameter in LanguageModel(ModelShape(2, 64, 4, 64)).parameters())
    parts = estimated().parts
    assert (parts.weights, parts.gradients, parts.optimizer) == (weights, weights, 2 * weights)


@pytest.mark.in_turn
def test_a_step_is_never_estimated_below_what_it_takes(tmp_path):
    from benchmarks.estimate import built_in, in_own_process, peak_of_trainer

    options = list(built_in(2, 64, 4, 64).options)
    measured = in_own_process(peak_of_trainer, options, 8, tmp_path)
    assert 1 <= estimated("--batch-size", 8).together / measured <= 1.10


def test_activations_grow_with_the_batch_and_shrink_with_checkpointing():
    one, many = estimated(), estimated("--batch-size", 32)
    assert many.parts.activations > 10 * one.parts.activations
    assert estimated("--batch-size", 32, "--checkpointing").parts.activations < many.parts.activations


def test_the_largest_batch_fits_and_the_next_does_not(capsys):
    _ended, found = told(capsys, "--memory", "64MiB")
    largest = found["largest_batch"]
    assert told(capsys, "--memory", "64MiB", "--batch-size", largest)[1]["fits"]
    ended, beyond = told(capsys, "--memory", "64MiB", "--batch-size", largest + 1)
    assert not beyond["fits"]
    assert "takes 0.063 GiB on each of 1 card(s) with ddp" in ended


def test_70_billion_with_adamw_on_8_cards_is_refused_without_weights(llama):
    options = parse(["--model", str(llama), "--cards", "8", "--sharding", "fsdp2"])
    described = before_start.on_no_device(options, 1)
    state = before_start.state_of(described.module)
    assert state.parameters == 70_553_706_496
    said = before_start.too_large(before_start.Planned("It", state, 8, "fsdp2", options.memory))
    assert "1,051.3 GiB, 131.4 GiB on each of 8 cards with fsdp2; a card has 128.0 GiB" in said


def test_a_training_that_cannot_fit_ends_before_its_model_is_built(train_here, monkeypatch):
    monkeypatch.setattr(before_start, "memory_of_rank", lambda ranks, device: 1 << 16)
    monkeypatch.setattr("gaudi3_scale.trainer.run.build_model", lambda options, data: pytest.fail("it was built"))
    with pytest.raises(
        GaudiError, match=r"The built-in model: weights, gradients and AdamW's state of .* 16 bytes each"
    ):
        train_here("--max-steps", 1)


def test_a_model_that_has_no_shapes_without_memory_trains_all_the_same(train_here, monkeypatch):
    def fails(options, vocabulary):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    monkeypatch.setattr(before_start, "on_no_device", fails)
    assert train_here("--max-steps", 1)[-1]["kind"] == "end"


def test_on_the_cpu_ranks_share_the_hosts_memory():
    alone, shared = (before_start.memory_of_rank(Ranks(0, n, 0, n), torch.device("cpu")) for n in (1, 4))
    assert 3 * shared < alone


def test_a_workload_is_estimated_as_the_probe_does(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_probe.py").write_text(
        "import torch\n"
        "def step(batch_size, device, width=256):\n"
        "    weight = torch.nn.Parameter(torch.ones(width, width))\n"
        "    return lambda: (torch.ones(batch_size, width) @ weight).sum().backward()\n"
        "def reads(batch_size, device):\n"
        "    return lambda: int(torch.ones(batch_size).sum()) + [][0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_probe", raising=False)
    given = ["--workload", "my_probe:step", "--workload-options", '{"width": 512}', "--memory", "16MiB"]
    ended, found = told(capsys, *given)
    assert (ended, found["fits"]) == ("0", True)
    assert told(capsys, *given, "--batch-size", found["largest_batch"])[1]["fits"]
    ended, beyond = told(capsys, *given, "--batch-size", found["largest_batch"] + 1)
    assert not beyond["fits"]
    assert f"give --batch-size {found['largest_batch']}." in ended
    with pytest.raises(
        GaudiError, match=r"my_probe:reads cannot be run on shapes alone .*; the batch-size probe runs it"
    ):
        estimate_of_workload(parse(["--workload", "my_probe:reads"]))


def test_a_model_that_reads_values_is_left_to_the_probe(tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    configuration = transformers.MixtralConfig(vocab_size=64, num_key_value_heads=2, num_local_experts=4, **sizes)
    configuration.save_pretrained(tmp_path)
    with pytest.raises(GaudiError, match=r"MixtralForCausalLM do not follow from its shapes .*probe measures them"):
        estimated("--model", tmp_path)
    # What its weights alone decide is said all the same.
    with pytest.raises(GaudiError, match="use at least 2 cards with --sharding fsdp2"):
        estimated("--model", tmp_path, "--memory", "1MiB")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "."], "--model .: there is no config.json; give the local directory of a Hugging Face model."),
        (["--width", "65"], "--width 65 is not a multiple of --heads 4; change one of the two."),
        (["--memory", "much"], "'much' is not a size: give bytes, or a number with KiB, MiB or GiB"),
        (["--cards", "0"], "Argument --cards: '0' is not a whole number of at least 1"),
        (["--card", "gaudi9"], "Argument --card: invalid choice: 'gaudi9'"),
        (["--workload", "a:b", "--model", "."], "--workload and --model name two trainings; leave one of them out."),
        (["--workload", "a:b", "--cards", "8"], "--cards 8: how a workload shares its model out is in its own code"),
        (["--workload-options", "[1]"], "'[1]' is not a JSON object"),
        (["--workload", "nowhere"], "workload 'nowhere' is not of the form module:function."),
    ],
)
def test_bad_input_is_one_sentence(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GaudiError) as raised:
        given = parse_command(["estimate", *SMALL, *options])
        given.run(given)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
