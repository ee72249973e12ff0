# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What sounds like a secret is not shown, wherever it stands in a value."""

from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.job_secrets import masked_description
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_texts import masked_texts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.secret_words import is_secret, without_secrets
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

SECRET = "pl4nted"


@pytest.mark.parametrize(
    "name",
    [
        *("PGPASSWORD", "APIKEY", "apiKey", "WANDB_API_KEY", "api-key", "OPENAI_API_KEYS", "HF_TOKEN", "HFTOKEN"),
        *("MYSQL_PWD", "DB_PASS", "DB_PASSWORD2", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "secrets"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY", "ssh.passphrase", "COMET_KEY", "HTTP_AUTH"),
    ],
)
def test_names_of_secrets(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("MAX_TOKENS", "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY", "PWD", "OLDPWD", "AUTHOR", "PT_HPU_LAZY_MODE"),
        *("tokens_per_second", "PASSES", "COMPASS", "num_key_value_heads"),
    ],
)
def test_names_of_none(name):
    assert not is_secret(name)


@pytest.mark.parametrize(
    "value",
    [
        {"environment": {"PGPASSWORD": SECRET}},
        {"tracking": [{"api-key": SECRET}]},
        {"storage": f"postgresql://study:{SECRET}@db:5432/studies"},
        {"index": f"https://{SECRET}@host/simple/"},
        {"index": f"say https://a:{SECRET}@h/x and more"},
        {"url": f"s3://bucket/x?X-Amz-Signature=1&token={SECRET}"},
        {"url": f"https://bucket/x?X-Amz-Signature={SECRET}&list-type=2"},
        {"command": ["train.py", f"--wandb-api-key={SECRET}"]},
        {"command": ["train.py", "--token", SECRET, "--steps", "3"]},
        {"command": ["env", f"HF_TOKEN={SECRET}", "train.py"]},
        {"text": f"exec torchrun train.py --api-key='{SECRET}' --steps 3"},
        {"token": 4711},
        {"credentials": {"password": SECRET}},
    ],
)
def test_values_are_hidden_wherever_they_stand(value):
    shown = json.dumps(without_secrets(value))
    assert SECRET not in shown
    assert "4711" not in shown
    assert "(not shown)" in shown


@pytest.mark.parametrize(
    "value",
    [
        {"url": "https://host:8080/simple/@v1?page=2", "steps": 3, "token": None, "words": ["--steps", "3", "a=b"]},
        {"command": ["train.py", "--tokens=3", "--max-tokens", "4", "user@host"], "lr": 1e-4},
    ],
)
def test_what_is_no_secret_stays(value):
    assert without_secrets(value) == value


def test_the_command_of_a_description_is_shown_without_its_secrets():
    description = {"command": ["train.py", "--hub-token", SECRET, f"--password={SECRET}"], "slurm": {"account": "a"}}
    assert SECRET not in json.dumps(masked_description(description))
    before, after = masked_texts("", json.dumps(description, indent=2))
    assert SECRET not in before + after
    assert '"--hub-token"' in after


ENVIRONMENT = {"WANDB_API_KEY": SECRET, "DATABASE": f"postgresql://me:{SECRET}@db/x"}


@pytest.mark.parametrize(
    "options",
    [
        {"environment": ENVIRONMENT, "slurm": {"partitoin": "x"}},
        {"environment": ENVIRONMENT, "supervision": {"min_nodes": "many"}},
        {"enviroment": ENVIRONMENT},
        {"environment": f"WANDB_API_KEY={SECRET}", "mpi": {"x": 1}},
        {"environment": ENVIRONMENT, "state": "begun"},
        {"environment": ENVIRONMENT, "command": ["x.py", "--token", SECRET], "state": "begun"},
        {"environment": [ENVIRONMENT]},
        {"WANDB_API_KEY": SECRET},
    ],
)
def test_a_task_that_ansible_refuses_shows_no_key(options):
    refused, status = call("training_job", **{"name": "llama", "state": "stopped", **options})
    assert status == 1
    assert SECRET not in json.dumps(refused)
    assert refused["invocation"]["module_args"]["name"] == "llama"


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("hpu_flags", {"release": "1", "environment": ENVIRONMENT, "recipe_cach": 1}),
        ("hpu_flags", {"release": "1", "environment": ENVIRONMENT}),
        ("hpu_batch_probe", {"workload_options": {"hub": {"token": SECRET}}, "minimum": 0}),
        ("hpu_compare_settings", {"base": {"environment": ENVIRONMENT}, "rounds": "x"}),
        ("training_venv", {"release": "1", "index_url": f"https://me:{SECRET}@host/simple", "python": "x"}),
        ("package_bundle", {"release": "1", "index_url": f"https://me:{SECRET}@host/simple", "path": "x", "part": "y"}),
        ("package_repository", {"url": f"https://me:{SECRET}@host/x", "releas": "1"}),
    ],
)
def test_no_other_refusal_shows_one(module, options):
    refused, status = call(module, **options)
    assert status == 1
    assert SECRET not in json.dumps(refused)
