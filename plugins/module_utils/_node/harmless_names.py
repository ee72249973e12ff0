# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which variables, and which options of commands, never hold a secret, by name; the value of any other one is hidden.

A site adds its own in ``/etc/gaudi3_scale/shown_names``, a name a line, in any case, ``*`` at its end for any end; with
``!`` before it the name is one that is hidden.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SITE = "/etc/gaudi3_scale/shown_names"
_LARGEST = 1 << 20

# Of systems, shells, schedulers, and of what computes. What sounds like a secret (SLURM_JWT) is hidden before this is
# asked.
_FAMILIES = """
    LC_ XDG_ PYTHON PIP_NO_ CONDA_DEFAULT_ OMP_ KMP_ MKL_ GOMP_ OPENBLAS_ NUMEXPR_ MALLOC_ LD_ GLIBC_
    HCCL_ NCCL_ GLOO_ UCX_ UCC_ FI_ RDMAV_ IBV_ MLX5_ PSM3_ I_MPI_ OMPI_ PMIX_ PRTE_ HYDRA_ MPI_
    PT_ HABANA_ HLS_ ENABLE_ GAUDI_ GAUDI3_SCALE_ LOG_LEVEL_ INTEL_ SYN_ GRAPH_ RUN_TPC_ FUSER_ USE_ RETURN_ CL_
    HCL_ STREAM_ DUMP_ MME_ TPC_ SRAM_ EDMA_ NIC_ GCFG_ DFA_ DSD_ ARC_ STAGED_ RUNTIME_ PRINT_ NUM_ MIN_ HOST_ ALLOW_
    GAUDI2_ COMPLEX_GUID_ EXPERIMENTAL_ FORCE_ MAX_ DISABLE_ PT2_ VLLM_ TORCH_ TORCHELASTIC_ TORCHINDUCTOR_ PYTORCH_
    TF_ XLA_ CUDA_ HIP_
    TOKENIZERS_ TRANSFORMERS_ ACCELERATE_ DEEPSPEED_ FSDP_ DATASETS_ SLURM_ SBATCH_ SRUN_ NUMA_ MASTER_ GRUB_CMDLINE_
"""
# Options are judged by the same names: --max-steps, --trainer.max_steps and MAX_STEPS are one.
_NAMES = """
    path home pwd oldpwd lang language tz term shell user logname hostname shlvl tmpdir temp tmp display editor pager
    rank world_size local_rank local_world_size node_rank group_rank nproc nnodes hl_log_level log_level_all
    habana_logs habana_profile wandb_project wandb_mode wandb_dir wandb_entity wandb_name wandb_group wandb_tags
    wandb_notes wandb_resume wandb_disabled wandb_job_type wandb_console wandb_silent mlflow_experiment_name
    hf_home hf_hub_cache hf_hub_offline hf_datasets_cache hf_datasets_offline hf_hub_enable_hf_transfer
    hf_hub_disable_telemetry aws_region aws_default_region aws_profile s3_endpoint_url no_proxy
    model model_name model_name_or_path model_type tokenizer tokenizer_name pretrained checkpoint resume
    resume_from_checkpoint config config_name config_file conf dataset dataset_name dataset_config dataset_config_name
    dataset_text_field data data_format train_data train_file validation_file eval_file split train_split
    eval_split output output_dir logging_dir cache_dir save_dir log_dir run_name name experiment project group entity
    tags task mode stage template chat_template trainer workload dtype precision mixed_precision torch_dtype optim
    optimizer scheduler lr_scheduler lr_scheduler_type warmup loss activation attention attn attn_implementation
    strategy backend rdzv_backend rdzv_endpoint rdzv_id rdzv_conf accelerator device devices engine launcher
    distributed parallel sharding fsdp zero deepspeed seed shuffle format type kind level verbose debug quiet
    report_to logging_strategy save_strategy eval_strategy evaluation_strategy lora_target_modules target_modules
    peft peft_type quantization compile use_cache adapter attention_type profile flags file hostfile host hosts node
    nodes master_addr partition account qos cluster region interface map_by bind_to rank_by mca output_filename
    architecture arch family variant size version release revision branch language_model processor
    target source input prompt_template padding truncation pooling metric metrics metric_for_best_model objective
    nodelist exclude ntasks cpu_bind mpi export open_mode error chdir signal job_name gres time mem tee redirects role
    local_addr no_python max_restarts standalone overlap kill_on_bad_exit label wait oversubscribe report_bindings
    daemon_opts args ps1 module package
"""
_ENDS = """
    _dir _directory _path _file _home _root _folder _cache _level _log _logs _port _size _count _steps _step _epochs
    _epoch _length _len _ratio _rate _lr _decay _dim _layers _heads _workers _threads _interval _seconds _timeout
    _mode _type _dtype _format _name _names _version _strategy _backend _enabled _disabled _batch _batches _samples
    _device _devices _ranks _node _nodes _host _hosts _region _precision _split _template _column _columns _every
    _addr _address _interface _iface _engine _method _policy _shape _weights _bytes _opts _parallelism
"""
# Of python, torchrun and mpirun, with their dash: a variable has no such name.
_LETTERS = frozenset(f"-{one}" for one in (*"cmnNxoijlfdvVqhtsXEBIS", "np", "npernode", "machinefile"))

_NORMAL = re.compile(r"[-.+~ ]+")


def is_harmless(name: str) -> bool:
    """Whether a variable or an option of this name is known to hold no secret."""
    plain = _plain(name)
    shown, hidden = site_names()
    if _among(plain, hidden):
        return False
    return (
        plain in _KNOWN
        or name in _LETTERS
        or plain.startswith(_BEGINNINGS)
        or plain.endswith(_KNOWN_ENDS)
        or _among(plain, shown)
    )


def is_hidden_here(name: str) -> bool:
    """Whether the site has said that it is a secret."""
    return _among(_plain(name), site_names()[1])


@cache
def site_names(path: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """Those that the site shows, and those that it hides. What cannot be read names none."""
    try:
        with Path(path or SITE).open(encoding="utf-8", errors="replace") as stream:
            lines = [line.partition("#")[0].strip() for line in stream.read(_LARGEST).splitlines()]
    except OSError:
        lines = []
    shown = frozenset(_plain(line) for line in lines if line and not line.startswith("!"))
    return shown, frozenset(_plain(line[1:]) for line in lines if line.startswith("!"))


def _among(plain: str, names: frozenset[str]) -> bool:
    return plain in names or any(one.endswith("*") and plain.startswith(one[:-1]) for one in names)


def _plain(name: str) -> str:
    """One form for all ways to write it. Of a path of names, +logger.project, the last one counts."""
    last = name.strip("-+~ ").rpartition(".")[2]
    return _NORMAL.sub("_", last).lower()


_KNOWN = frozenset(_NAMES.split())
_BEGINNINGS = tuple(_FAMILIES.lower().split())
_KNOWN_ENDS = tuple(_ENDS.split())
