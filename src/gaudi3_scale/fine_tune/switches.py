# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Switches of optimum-habana's programs that upstream does not have: each is answered by its name.

The names are those of ``GaudiTrainingArguments`` in optimum-habana 1.21.2, of the programs among its examples, and of
what Transformers itself dropped since. docs/optimum_habana.md has the table of them, made from this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.elsewhere import FP8

OFF = ("false", "0", "no", "none")


@dataclass(frozen=True)
class Switch:
    """``answer`` ends a sentence that begins with the name.

    One with ``new`` is renamed. Else it is left out, or refused if ``refused``; a value of ``harmless`` asks for
    nothing and is left out in any case.
    """

    name: str
    answer: str
    refused: bool = False
    new: str = ""
    harmless: tuple[str, ...] = OFF


_DEVICE = "accelerate chooses the cards by itself; --use_cpu trains without them"
_MODE = "PT_HPU_LAZY_MODE chooses the mode; upstream marks no steps, so leave it at 0 (docs/flags.md)"
_GRAPHS = "upstream records no HPU graphs; batches of one shape, the default here, are compiled once"
_CONFIG = "upstream reads no Gaudi configuration: --bf16 is the mixed precision, --optim the optimizer"
_COMPILE = "upstream's torch.compile has no such setting; --torch_compile compiles the whole model with hpu_backend"
_PACE = "the job's page shows the speed over the last steps, without the first ones (docs/follow.md)"
_PROFILE = "`gaudi3_scale profile` says why steps take as long as they do (docs/profile.md)"
SDPA = "upstream has no fused attention of the vendor's; --attn_implementation sdpa is PyTorch's own"
_MARKS = "upstream marks no steps, which only lazy mode needs"
_LOCAL = "data is read from local files, so that no node asks the internet; give --train_file or --train_dir"
_SPLIT = "the program does not split data; give --validation_file or --validation_dir"
_FORMAT = "instructions are --task sft, with the columns prompt and completion, or messages"
_LOADED = "upstream does so by itself"

_OF_GAUDI_TRAINER = (
    Switch("use_habana", _DEVICE),
    Switch("use_lazy_mode", _MODE),
    Switch("gaudi_config_name", _CONFIG),
    Switch("gaudi_config", _CONFIG),
    Switch("use_hpu_graphs", _GRAPHS),
    Switch("use_hpu_graphs_for_training", _GRAPHS),
    Switch("use_hpu_graphs_for_inference", _GRAPHS),
    Switch("disable_tensor_cache_hpu_graphs", _GRAPHS),
    Switch("max_hpu_graphs", _GRAPHS),
    Switch("use_compiled_autograd", _COMPILE),
    Switch("compile_from_sec_iteration", _COMPILE),
    Switch("compile_dynamic", _COMPILE),
    Switch("cache_size_limit", _COMPILE),
    Switch("use_regional_compilation", _COMPILE),
    Switch("inline_inbuilt_nn_modules", _COMPILE),
    Switch("allow_unspec_int_on_nn_module", _COMPILE),
    Switch("use_zero3_leaf_promotion", _COMPILE),
    Switch("distribution_strategy", "upstream has DistributedDataParallel alone", harmless=("ddp",)),
    Switch(
        "context_parallel_size",
        "upstream splits no sequence over cards; give --max_seq_length or --block_size what fits into one",
        refused=True,
        harmless=("1",),
    ),
    Switch("throughput_warmup_steps", _PACE),
    Switch("adjust_throughput", _PACE),
    Switch("pipelining_fwd_bwd", _MARKS),
    Switch("non_blocking_data_copy", "accelerate copies so with --accelerator_config '{\"non_blocking\": true}'"),
    Switch("ignore_eos", "upstream's generate ends at the end-of-sequence token"),
    Switch("profiling_warmup_steps", _PROFILE),
    Switch("profiling_steps", _PROFILE),
    Switch("profiling_warmup_steps_eval", _PROFILE),
    Switch("profiling_steps_eval", _PROFILE),
    Switch("profiling_record_shapes", _PROFILE),
    Switch("profiling_with_stack", _PROFILE),
    Switch("half_precision_backend", "--bf16 is autocast on any device"),
    Switch("flash_attention_recompute", SDPA),
    Switch("flash_attention_fast_softmax", SDPA),
    Switch("flash_attention_causal_mask", SDPA),
    Switch("flash_attention_fp8", FP8, refused=True),
    Switch("sdp_on_bf16", "upstream leaves PyTorch's setting for it alone"),
    Switch("fp8", FP8, refused=True),
    Switch("minimize_memory", FP8, refused=True),
)
_OF_ITS_PROGRAMS = (
    Switch("dataset_name", _LOCAL, refused=True),
    Switch("dataset_config_name", _LOCAL),
    Switch("dataset_config", _LOCAL),
    Switch("subset", _LOCAL),
    Switch("streaming", _LOCAL),
    Switch("task_name", "GLUE's data are files like any other; give --train_file", refused=True),
    Switch("train_val_split", _SPLIT),
    Switch("validation_split_percentage", _SPLIT),
    Switch("dataset_concatenation", "--task text-generation always joins texts into blocks of --block_size"),
    Switch("line_by_line", "--task fill-mask joins texts into blocks of --block_size", refused=True),
    Switch("version_2_with_negative", "rows without an answer need no switch"),
    Switch("sql_prompt", _FORMAT, refused=True),
    Switch("chat_prompt", _FORMAT, refused=True),
    Switch("peft_type", "--use_peft is LoRA", refused=True, harmless=("lora",)),
    Switch("use_flash_attention", SDPA),
    Switch("attn_softmax_bf16", SDPA),
    Switch("low_cpu_mem_usage", _LOADED),
    Switch("load_meta_device", _LOADED),
    Switch("use_fast_tokenizer", _LOADED),
    Switch("add_pad_token", "where a tokenizer has no padding token, its end-of-sequence token is taken"),
    Switch("max_prompt_length", "TRL cuts at --max_length", harmless=()),
)
_THAT_UPSTREAM_DROPPED = (
    Switch("warmup_ratio", "below 1, upstream takes it as a share of the steps", new="warmup_steps"),
    Switch("evaluation_strategy", "its name upstream", new="eval_strategy"),
    Switch(
        "overwrite_output_dir", "a job goes on from the newest checkpoint; a new --output_dir begins from the start"
    ),
    Switch("logging_dir", "TensorBoard reads the variable TENSORBOARD_LOGGING_DIR"),
    Switch("save_safetensors", _LOADED),
    Switch("tpu_num_cores", "there are no TPUs here"),
    Switch("group_by_length", "--train_sampling_strategy group_by_length is its name upstream", refused=True),
)
SWITCHES = {switch.name: switch for switch in (*_OF_GAUDI_TRAINER, *_OF_ITS_PROGRAMS, *_THAT_UPSTREAM_DROPPED)}
GROUPS = (
    ("Of `GaudiTrainingArguments`", _OF_GAUDI_TRAINER),
    ("Of its programs", _OF_ITS_PROGRAMS),
    ("That Transformers dropped", _THAT_UPSTREAM_DROPPED),
)
# A value that only optimum-habana's models know.
FUSED = "gaudi_fused_sdpa"


def answer_switches(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words for upstream's parser, and a sentence for each switch that was left out or renamed.

    GaudiError for one that cannot be left out without training something else.
    """
    kept: list[str] = []
    told: list[str] = []
    for words in _by_switch(arguments):
        switch = SWITCHES.get(name_of(words[0]))
        if switch is None:
            kept += _without_fused(words, told)
            continue
        values = values_of(words)
        if switch.new:
            kept += [f"--{switch.new}", *values]
            told.append(f"--{switch.name} is --{switch.new}: {switch.answer}.")
        elif any(value.lower() in switch.harmless for value in values):
            continue
        elif switch.refused:
            raise GaudiError(f"{' '.join([f'--{switch.name}', *values])} is not supported: {switch.answer}.")
        else:
            told.append(f"--{switch.name} has no effect: {switch.answer}.")
    return kept, told


def _without_fused(words: list[str], told: list[str]) -> list[str]:
    if name_of(words[0]) != "attn_implementation" or values_of(words) != [FUSED]:
        return words
    told.append(f"--attn_implementation {FUSED} is --attn_implementation sdpa: {SDPA}.")
    return ["--attn_implementation", "sdpa"]


def _by_switch(arguments: Sequence[str]) -> Iterator[list[str]]:
    """A switch with its values; what stands before the first one is on its own."""
    group: list[str] = []
    for word in arguments:
        if word.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def name_of(word: str) -> str:
    """A switch's name with underscores, which may be written with hyphens; empty for what is none."""
    return word.removeprefix("--").partition("=")[0].replace("-", "_") if word.startswith("--") else ""


def values_of(words: Sequence[str]) -> list[str]:
    """Those of a switch, which comes first; the first one may be behind an equals sign."""
    _switch, equals, value = words[0].partition("=")
    return [value, *words[1:]] if equals else list(words[1:])


def values_given(words: Sequence[str], name: str) -> list[str] | None:
    """The values of a switch where it was given last; None where it was not."""
    given = [group for group in _by_switch(words) if name_of(group[0]) == name]
    return values_of(given[-1]) if given else None
