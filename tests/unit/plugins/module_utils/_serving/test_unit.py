# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command, the variables and the unit of an instance, as text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.command import engine_argv, engine_variables
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import ServingPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.engines import Engine
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import parse_instance
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.runtime import Runtime, check_argv, in_container
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.sizing import Size
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.unit import Program, unit_text

CHAT = {"name": "chat", "model": "llama@production", "cards": 2, "port": 8000}
PATHS = ServingPaths("chat")
SIZE = Size(4352, 64, 0.97, ("", ""))
IMAGE = Runtime(
    image=f"registry.example.org/vllm@sha256:{'0' * 64}", directory="/var/lib/gaudi3_scale/images/x/sha256-0"
)


def argv(engine: str = "0.26.0", tls: tuple[str, ...] = (), **instance: object) -> str:
    one = parse_instance({**CHAT, **instance})
    return " ".join(engine_argv(one, Engine(engine), SIZE, "/models/a", program="/env/bin/vllm", drain=60, tls=tls))


def variables(engine: str = "0.26.0", size: Size = SIZE, **instance: object) -> dict[str, str]:
    one = parse_instance({**CHAT, **instance})
    return engine_variables(one, Engine(engine), size, (4, 5), PATHS, "/recipes/x")


def test_the_command_has_the_instance_s_own_options_and_then_the_operator_s():
    words = argv(flags={"dtype": "bfloat16", "enable_prefix_caching": False, "max-num-batched-tokens": 4096})
    assert words.startswith("/env/bin/vllm serve /models/a --host 127.0.0.1 --port 8000 --served-model-name llama ")
    assert "--tensor-parallel-size 2 --max-model-len 4352 --max-num-seqs 64 --gpu-memory-utilization 0.97" in words
    assert words.endswith("--shutdown-timeout 60 --dtype bfloat16 --no-enable-prefix-caching")
    assert words.count("--max-num-batched-tokens") == 1
    assert "--max-num-batched-tokens 4096" in words


def test_an_engine_that_cannot_drain_is_not_asked_to():
    assert "--shutdown-timeout" not in argv("0.17.1")
    assert "--ssl-certfile /run/x/certificate --ssl-keyfile /run/x/certificate_key" in argv(
        tls=("/run/x/certificate", "/run/x/certificate_key")
    )


def test_the_variables_are_for_these_cards_and_lengths():
    found = variables(environment={"OMP_NUM_THREADS": 8})
    assert (found["HABANA_VISIBLE_MODULES"], found["PT_HPU_LAZY_MODE"], found["OMP_NUM_THREADS"]) == ("4,5", "0", "8")
    assert found["PT_HPU_RECIPE_CACHE_CONFIG"] == "/recipes/x,false,8192"
    assert found["VLLM_DECODE_BS_BUCKET_MAX"] == "64"
    assert "VLLM_RPC_TIMEOUT" not in found
    assert variables(size=Size(65536, 8, 0.9, ("", "")))["VLLM_RPC_TIMEOUT"] == "100000"
    assert variables("0.21.0")["VLLM_BUCKETING_STRATEGY"] == "exp"
    own = variables(environment={"VLLM_BUCKETING_STRATEGY": "lin", "VLLM_DECODE_BS_BUCKET_MAX": 16})
    assert [name for name in own if "BUCKET" in name] == ["VLLM_BUCKETING_STRATEGY", "VLLM_DECODE_BS_BUCKET_MAX"]
    assert variables(skip_warm_up=True)["VLLM_SKIP_WARMUP"] == "true"


def unit(model: str = "/var/lib/gaudi3_scale/serving/models/a", **program: object) -> str:
    started = Program(("/env/bin/vllm", "serve"), check_argv(PATHS, model, "a"), **program)
    return unit_text(parse_instance(CHAT), PATHS, started, model, 60)


def test_the_unit_checks_the_model_first_and_gives_up_after_five_starts():
    text = unit(secrets=("/etc/x.key",), writable=("/recipes/x",))
    before, start = text.index("ExecStartPre="), text.index("ExecStart=")
    assert before < start
    for line in (
        "User=gaudi-serving",
        "Restart=on-failure",
        "StartLimitBurst=5",
        "TimeoutStartSec=infinity",
        "TimeoutStopSec=90",
        "EnvironmentFile=/etc/x.key",
        "ProtectSystem=strict",
        "ProtectHome=tmpfs",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "UMask=0077",
        "RestrictNamespaces=yes",
        'ReadWritePaths="/var/lib/gaudi3_scale/serving/instances/chat" "/recipes/x"',
        "WantedBy=multi-user.target",
    ):
        assert line in text.splitlines()
    assert "ProtectSystem=full" not in text
    assert "BindReadOnlyPaths" not in text
    assert 'BindReadOnlyPaths="/home/anna/model"' in unit("/home/anna/model")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_knows_every_line(tmp_path: Path):
    for name, is_container in (("venv", False), ("image", True)):
        path = tmp_path / f"gaudi3-scale-serving-{name}.service"
        path.write_text(unit(secrets=("/etc/x.key",), is_container=is_container), encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
        assert not [line for line in done.stderr.splitlines() if f"{path}:" in line]


def test_an_image_is_entered_as_a_job_s_is_and_sees_its_model_alone():
    words = " ".join(in_container(IMAGE, PATHS, ("/models/a", "/etc/x.pem"), ["B", "A"]))
    assert re.match(r"/usr/bin/python3 -I -S /var/lib/gaudi3_scale/serving/programs/[0-9a-f]{16}\.pyz ", words)
    assert f"--image {IMAGE.directory} --name gaudi3-scale-serving-chat" in words
    assert "--device hpu" in words
    assert "--mount /models/a:/models/a:ro --mount /etc/x.pem:/etc/x.pem:ro --own A --own B --" in words
