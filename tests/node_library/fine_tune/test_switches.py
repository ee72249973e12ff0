# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each switch of optimum-habana has an answer: left out and told, renamed, or refused."""

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.libraries import require
from gaudi3_scale.fine_tune.switches import SWITCHES, answer_switches
from gaudi3_scale.fine_tune.tasks import TASKS, task_of

# The fields that GaudiTrainingArguments of optimum-habana 1.21.2 has beyond those of Transformers.
OWN_FIELDS = """
use_habana gaudi_config_name use_lazy_mode use_hpu_graphs use_hpu_graphs_for_inference use_hpu_graphs_for_training
use_compiled_autograd compile_from_sec_iteration compile_dynamic use_zero3_leaf_promotion cache_size_limit
use_regional_compilation inline_inbuilt_nn_modules allow_unspec_int_on_nn_module disable_tensor_cache_hpu_graphs
max_hpu_graphs distribution_strategy context_parallel_size minimize_memory throughput_warmup_steps adjust_throughput
pipelining_fwd_bwd ignore_eos non_blocking_data_copy profiling_warmup_steps profiling_steps profiling_warmup_steps_eval
profiling_steps_eval profiling_record_shapes profiling_with_stack half_precision_backend flash_attention_recompute
flash_attention_fast_softmax flash_attention_causal_mask flash_attention_fp8 sdp_on_bf16 fp8
"""


@pytest.mark.parametrize("name", OWN_FIELDS.split())
def test_a_field_of_its_own_has_an_answer(name):
    assert SWITCHES[name].answer
    # Of no field did it matter whether one writes its value behind an equals sign.
    for words in ([f"--{name}", "7"], [f"--{name}=7"]):
        try:
            kept, told = answer_switches(["--task", "sft", *words, "--bf16"])
        except GaudiError as error:
            assert SWITCHES[name].refused and f"--{name} 7 is not supported: " in str(error)
        else:
            assert kept == ["--task", "sft", "--bf16"]
            assert len(told) == 1 and told[0].startswith(f"--{name} has no effect: ")


@pytest.mark.parametrize(
    "words", ["--fp8 False", "--fp8=false", "--distribution_strategy ddp", "--context_parallel_size 1"]
)
def test_a_value_that_asks_for_nothing_is_left_out(words):
    assert answer_switches(words.split()) == ([], [])


def test_what_has_a_new_name_is_renamed():
    kept, told = answer_switches(["--warmup_ratio", "0.03", "--evaluation_strategy=no", "--learning_rate", "3e-5"])
    assert kept == ["--warmup_steps", "0.03", "--eval_strategy", "no", "--learning_rate", "3e-5"]
    assert [sentence.split(":")[0] for sentence in told] == [
        "--warmup_ratio is --warmup_steps",
        "--evaluation_strategy is --eval_strategy",
    ]


def test_fused_attention_becomes_that_of_pytorch():
    kept, told = answer_switches(["--attn_implementation", "gaudi_fused_sdpa"])
    assert kept == ["--attn_implementation", "sdpa"] and len(told) == 1
    assert answer_switches(["--attn_implementation=eager"]) == (["--attn_implementation=eager"], [])


def test_the_values_of_other_switches_stay_with_them():
    words = ["--lora_target_modules", "q_proj", "v_proj", "--weight_decay", "-1", "--source_prefix", "use_habana: "]
    assert answer_switches(words) == (words, [])


def test_a_task_that_is_elsewhere_is_told_where():
    for words, said in (
        ([], "--task is missing; give one of text-generation, "),
        (["--task", "text-to-image"], "--task text-to-image is not one of .*: diffusion models are not trained"),
        (["--task=ranking"], "--task ranking is not one of .*; give one of them"),
    ):
        with pytest.raises(GaudiError, match=said):
            task_of(words)


def test_what_a_task_lacks_is_named_before_it_is_imported(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in ("trl", "peft", "deepspeed") else name)
    with pytest.raises(
        GaudiError, match=r"--task sft needs trl, peft, .* put trl>=1,<2, peft into the file that gaudi_tr"
    ):
        require(TASKS["sft"], ["--use_peft"])
    with pytest.raises(GaudiError, match=r"needs deepspeed, .* fork of DeepSpeed"):
        require(TASKS["fill-mask"], ["--deepspeed", "zero2.json"])
    require(TASKS["fill-mask"], ["--use_peft", "False", "--bf16"])
