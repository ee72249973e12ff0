# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The signature of a model in the form of OpenSSF's model signing v1.0 with a key, made and checked by openssl(1).

``model_signing verify key`` of the package model-signing accepts it (tests hold the two against each other). That
package brings 40 others and compiled parts, and a node has openssl. The form: an in-toto statement with the SHA-256 of
each file, in a DSSE envelope, in a Sigstore bundle v0.3 whose key is named by the SHA-256 of its PEM.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Mapping

from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.json_file import parse_object

# In the model's directory; the name that model-signing's documents use.
SIGNATURE = "model.sig"
MOST_BYTES = 1 << 24
_CURVE = "prime256v1"
_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE_TYPE = "https://model_signing/signature/v1.0"
_SERIALIZATION = {"method": "files", "hash_type": "sha256", "allow_symlinks": False, "ignore_paths": [SIGNATURE]}


def ensure_key(path: str, run: Run) -> bool:
    """Make a private key, readable by its owner alone, where the file is missing; True where it was."""
    if Path(path).exists():
        return False
    made = _openssl(run, "genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{_CURVE}")
    if made.rc != 0:
        raise GaudiError(
            f"openssl could not make a signing key: {last_line(made.stderr)}; install openssl 1.1.1 or newer."
        )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(made.stdout)
    return True


def public_key(path: str, option: str, run: Run) -> str:
    """The public half in PEM of the private key in a file; GaudiError where that is none that this signs with."""
    read = _openssl(run, "pkey", "-in", path, "-passin", "pass:", "-pubout")
    if read.rc != 0:
        raise GaudiError(
            f"{option} {path} is not a private key that can be read without a passphrase; name another file, or remove "
            "the option to have one made."
        )
    told = _openssl(run, "pkey", "-in", path, "-passin", "pass:", "-noout", "-text_pub")
    if f"ASN1 OID: {_CURVE}" not in told.stdout:
        raise GaudiError(
            f"{option} {path} is not a key on the curve P-256; make one with "
            "`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`."
        )
    return read.stdout


def fingerprint(public: str) -> str:
    """What names a key: ``sha256sum`` of the file with its public half."""
    return hashlib.sha256(public.encode("ascii")).hexdigest()


def sign(name: str, digests: Mapping[str, str], key: str, public: str, run: Run) -> bytes:
    """The signature over files: relative path to SHA-256 in hex."""
    payload = json.dumps(_statement(name, digests), sort_keys=True).encode()
    with tempfile.TemporaryDirectory() as scratch:
        text, signature = Path(scratch, "text"), Path(scratch, "signature")
        text.write_bytes(_before_signing(payload))
        made = _openssl(run, "dgst", "-sha256", "-sign", key, "-passin", "pass:", "-out", str(signature), str(text))
        if made.rc != 0:
            raise GaudiError(f"openssl cannot sign with {key}: {last_line(made.stderr)}.")
        signed = signature.read_bytes()
    return _bundle(payload, signed, fingerprint(public))


def signer(content: bytes) -> str:
    """The fingerprint that a signature names, which proves nothing; ValueError where it is none of ours."""
    return _parts(content)[2]


def signed_files(content: bytes, public: str, run: Run) -> tuple[str, Mapping[str, str]]:
    """The name, and path to SHA-256, that this key signed. ValueError with a clause where it did not."""
    payload, signature, hint = _parts(content)
    if hint != fingerprint(public):
        raise ValueError(f"it is signed by the key {hint}")
    with tempfile.TemporaryDirectory() as scratch:
        files = {name: Path(scratch, name) for name in ("key", "text", "signature")}
        for name, bytes_ in (("key", public.encode()), ("text", _before_signing(payload)), ("signature", signature)):
            files[name].write_bytes(bytes_)
        checked = _openssl(
            run,
            *("dgst", "-sha256", "-verify", str(files["key"])),
            *("-signature", str(files["signature"]), str(files["text"])),
        )
    if checked.rc != 0:
        raise ValueError("its signature is not valid")
    return _files_of(payload)


def _openssl(run: Run, *arguments: str) -> CommandResult:
    done = run(["openssl", *arguments])
    if done.rc == 127:
        raise GaudiError("openssl is not installed, and models are signed and checked with it; install openssl.")
    return done


def _statement(name: str, digests: Mapping[str, str]) -> dict[str, Any]:
    rows = sorted(digests.items())
    root = hashlib.sha256(b"".join(bytes.fromhex(digest) for _path, digest in rows)).hexdigest()
    resources = [{"name": path, "algorithm": "sha256", "digest": digest} for path, digest in rows]
    return {
        "_type": _STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": root}}],
        "predicateType": _PREDICATE_TYPE,
        "predicate": {"serialization": _SERIALIZATION, "resources": resources},
    }


def _before_signing(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return f"DSSEv1 {len(_PAYLOAD_TYPE)} {_PAYLOAD_TYPE} {len(payload)} ".encode() + payload


def _bundle(payload: bytes, signature: bytes, hint: str) -> bytes:
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": _PAYLOAD_TYPE,
        "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}],
    }
    material = {"publicKey": {"hint": hint}, "tlogEntries": []}
    bundle = {"mediaType": _MEDIA_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope}
    return json.dumps(bundle, sort_keys=True).encode()


def _parts(content: bytes) -> tuple[bytes, bytes, str]:
    try:
        bundle = parse_object(content, MOST_BYTES)
        envelope = bundle["dsseEnvelope"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        signature = base64.b64decode(envelope["signatures"][0]["sig"], validate=True)
        hint = bundle["verificationMaterial"]["publicKey"]["hint"]
    except (ValueError, LookupError, TypeError, binascii.Error) as error:
        raise ValueError("its signature cannot be read") from error
    # One form alone: whatever else JSON and base64 allow says nothing, and would be no part of what was signed.
    if not isinstance(hint, str) or not hint.isascii() or _bundle(payload, signature, hint) != content:
        raise ValueError("its signature cannot be read")
    return payload, signature, hint


def _files_of(payload: bytes) -> tuple[str, Mapping[str, str]]:
    try:
        statement = parse_object(payload, MOST_BYTES)
        name = str(statement["subject"][0]["name"])
        digests = {row["name"]: row["digest"] for row in statement["predicate"]["resources"]}
        is_ours = statement == _statement(name, digests)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError("what is signed cannot be read") from error
    if not is_ours:
        raise ValueError("what is signed cannot be read")
    return name, digests
