# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module's shell model_registry, run as Ansible runs it."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


@pytest.fixture
def export(tmp_path):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "config.json").write_text("{}")
    (tmp_path / "export" / "model.safetensors").write_bytes(b"weights")
    return tmp_path


def publish(export, check_mode=False, **options):
    given = {"registry": str(export / "registry"), "name": "llama", "signing_key": str(export / "key.pem"), **options}
    return call("model_registry", check_mode, **given)


def test_check_mode_tells_it_a_run_publishes_it_and_another_has_nothing_to_do(export):
    facts = {"license": "Llama 3.1", "step": 100, "curve": [{"step": 1, "loss": 2.5}], "job": "", "commit": None}
    wanted = {"path": str(export / "export"), "alias": "candidate", "facts": facts}
    foreseen, status = publish(export, check_mode=True, **wanted)
    assert (status, foreseen["changed"], foreseen["path"]) == (0, True, "")
    assert not (export / "registry").exists()
    done, status = publish(export, **wanted)
    assert (status, done["changed"], done["version"]) == (0, True, foreseen["version"])
    assert done["facts"] == {"license": "Llama 3.1", "step": 100, "curve": [{"step": 1, "loss": 2.5}]}
    again, status = publish(export, **wanted)
    assert (status, again["changed"]) == (0, False)


def test_a_model_without_a_record_and_a_damaged_one_are_refused(export):
    told, status = publish(export, version="candidate")
    assert (status, told["msg"].startswith("There is no model llama in ")) == (1, True)
    done, _status = publish(export, path=str(export / "export"))
    for name, sentence in (("model.safetensors", "is changed or damaged"), ("gaudi3_scale_model.json", "nobody says")):
        file = export / "registry" / "models" / "llama" / "versions" / done["version"] / name
        if name == "model.safetensors":
            file.write_bytes(b"wEights")
        else:
            file.unlink()
        told, status = publish(export, version=done["version"], fingerprint=done["fingerprint"])
        assert status == 1
        assert sentence in told["msg"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"facts": {"step": "many"}}, "cannot be converted to an int"),
        ({"facts": {"hue": "red"}}, "versions."),
        ({"registry": "models"}, "."),
    ],
)
def test_what_cannot_be_meant_is_refused(export, wrong, sentence):
    told, status = publish(export, path=str(export / "export"), **wrong)
    assert status == 1
    assert told["msg"].endswith(sentence)
