# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._model import signature
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import ModelOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process

# Of the package model-signing: `pip install model-signing` somewhere, and its program on the path.
MODEL_SIGNING = shutil.which("model_signing")
DIGESTS = {"b.json": hashlib.sha256(b"b").hexdigest(), "a/x": hashlib.sha256(b"x").hexdigest()}


@pytest.fixture
def key(tmp_path):
    """A private key's file, and its public half."""
    path = str(tmp_path / "key.pem")
    assert signature.ensure_key(path, run_process)
    return path, signature.public_key(path, "signing_key", run_process)


def test_what_is_signed_is_read_with_its_key_alone(key, tmp_path):
    path, public = key
    signed = signature.sign("llama", DIGESTS, path, public, run_process)
    assert signature.signed_files(signed, public, run_process) == ("llama", DIGESTS)
    assert signature.signer(signed) == signature.fingerprint(public)
    other = str(tmp_path / "other.pem")
    signature.ensure_key(other, run_process)
    public_of_other = signature.public_key(other, "signing_key", run_process)
    with pytest.raises(ValueError, match=f"it is signed by the key {signature.fingerprint(public)}"):
        signature.signed_files(signed, public_of_other, run_process)
    forged = signed.replace(signature.fingerprint(public).encode(), signature.fingerprint(public_of_other).encode())
    with pytest.raises(ValueError, match="its signature is not valid"):
        signature.signed_files(forged, public_of_other, run_process)


def test_its_form_is_that_of_model_signing(key):
    """https://github.com/ossf/model-signing-spec, and Sigstore's bundle v0.3 with a key."""
    path, public = key
    bundle = json.loads(signature.sign("llama", DIGESTS, path, public, run_process))
    assert bundle["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert bundle["verificationMaterial"] == {
        "publicKey": {"hint": hashlib.sha256(public.encode()).hexdigest()},
        "tlogEntries": [],
    }
    statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://model_signing/signature/v1.0"
    assert [row["name"] for row in statement["predicate"]["resources"]] == ["a/x", "b.json"]
    digests = b"".join(bytes.fromhex(DIGESTS[name]) for name in ("a/x", "b.json"))
    assert statement["subject"] == [{"name": "llama", "digest": {"sha256": hashlib.sha256(digests).hexdigest()}}]


@pytest.mark.skipif(MODEL_SIGNING is None, reason="no program model_signing here")
def test_the_package_model_signing_accepts_it_and_refuses_a_changed_file(exported, tmp_path):
    place = tmp_path / "registry"
    options = ModelOptions(str(place), "llama", path=str(exported), signing_key=str(tmp_path / "key.pem"))
    told = converge(options, run_process, False)
    command = [
        *(MODEL_SIGNING, "verify", "key", told["path"], "--signature", f"{told['path']}/model.sig"),
        *("--public_key", str(place / "keys" / f"{told['fingerprint']}.pem")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "models" / "llama" / "versions" / told["version"] / "config.json").write_text("{}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "config.json" in done.stdout + done.stderr


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"dsseEnvelope": {"payload": 5}}', b"[" * 100])
def test_what_is_no_signature_is_refused(key, content):
    with pytest.raises(ValueError, match=r"^its signature cannot be read$"):
        signature.signed_files(content, key[1], run_process)


def test_the_same_in_another_form_is_refused(key):
    path, public = key
    signed = signature.sign("llama", DIGESTS, path, public, run_process)
    for other in (signed + b"\n", json.dumps(json.loads(signed), indent=1).encode()):
        with pytest.raises(ValueError, match=r"^its signature cannot be read$"):
            signature.signed_files(other, public, run_process)


def test_without_openssl_it_says_so():
    with pytest.raises(GaudiError, match=r"^openssl is not installed, and models are signed and checked with it; "):
        signature.public_key("/x", "signing_key", lambda *_argv, **_more: CommandResult(127, "", ""))
