# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whose variables those are that other programs of a job read, by the beginnings of their names.

No list of such names is complete, so a beginning is what counts: whether one of these names is spelt rightly is for its
own program to say, and no flag of the Gaudi software is proposed for it. Where the Gaudi software reads a name of
such a beginning too, as some of vLLM's and libfabric's, the catalog has it, and the catalog comes first.

Sources: the variables that scripts for Gaudi set (README_GAUDI.md and scripts of HabanaAI/vllm-fork 1.19 to 1.22,
docs.habana.ai, optimum-habana, Model-References), and the programs' own documentation.
"""

from __future__ import annotations

import re

_PROGRAMS: tuple[tuple[str, str], ...] = (
    ("vLLM", "VLLM_.*"),
    ("Ray", "RAY_.*"),
    ("PyTorch", "(?:GLOO|TORCH|PYTORCH|TP|TORCHINDUCTOR|TORCHELASTIC|INDUCTOR|C10D|ATEN|CAFFE2)_.*"),
    ("OpenMP", "(?:OMP|KMP|GOMP|LIBOMP)_.*"),
    ("a mathematical library", "(?:MKL|OPENBLAS|BLIS|ONEDNN|DNNL|NUMEXPR|VECLIB)_.*"),
    (
        "Hugging Face's libraries",
        "(?:HF|HUGGING_?FACE|HUGGINGFACEHUB|TRANSFORMERS|TOKENIZERS|DATASETS|ACCELERATE|FSDP)_.*",
    ),
    ("DeepSpeed", "(?:DEEPSPEED|DS)_.*"),
    ("MPI", "(?:OMPI|OPAL|ORTE|PMIX|PRTE|PMI|I_MPI|MPI|MPICH|MV2|HYDRA)_.*"),
    ("UCX", "UCX_.*"),
    ("libfabric", "FI_.*"),
    ("rdma-core", "(?:RDMAV|IBV|MLX[45])_.*"),
    ("Slurm", "(?:SLURM|SBATCH|SRUN|SALLOC|SQUEUE|SINFO|MUNGE)_.*"),
    ("a tracker of experiments", "(?:WANDB|MLFLOW|COMET|NEPTUNE|CLEARML|AIM)_.*"),
    ("a compiler", "(?:TRITON|NUMBA|LLVM|XLA|TF|JAX)_.*|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"),
    ("Kubernetes", "(?:KUBERNETES|KUBE|POD|K8S)_.*|KUBECONFIG"),
    ("Python", "PYTHON[A-Z_]*|(?:PIP|CONDA|UV)_.*|VIRTUAL_ENV"),
    ("the loader of programs", "LD_.*|MALLOC_.*|GLIBC_TUNABLES|TCMALLOC_.*"),
    ("programs that use a proxy", "(?i:https?|ftp|no|all)_(?i:proxy)"),
    (
        "the system",
        "PATH|HOME|PWD|OLDPWD|SHELL|SHLVL|USER|LOGNAME|HOSTNAME|LANG|LANGUAGE|LC_.*|TZ|TERM|TMPDIR|TMP|TEMP|XDG_.*|SSH_.*",
    ),
)


def program_of(name: str) -> str:
    """The program to which a name of this beginning belongs; empty for one that nobody is known to have."""
    return next((program for program, names in _PROGRAMS if re.fullmatch(names, name)), "")
