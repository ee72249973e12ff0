# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""podman and buildah: what they say of an image, and what is said of an image that did not come or go."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image.engine import (
    Engine,
    Image,
    find_engine,
    seconds,
    transfer_refusal,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# As podman 4.3 and buildah 1.28 print the same image, the fields that are read.
PODMANS = [
    {
        "Id": "12ab",
        "Digest": "sha256:34cd",
        "Created": "2026-01-02T03:04:05.123456789Z",
        "Architecture": "amd64",
        "Labels": {"a": "b"},
        "Config": {"User": "1000:1000"},
        "RootFS": {"Type": "layers", "Layers": ["sha256:1", "sha256:2"]},
    }
]
BUILDAHS = {
    "FromImageID": "12ab",
    "FromImageDigest": "sha256:34cd",
    "OCIv1": {
        "created": "2026-01-02T03:04:05.123456789Z",
        "architecture": "amd64",
        "config": {"Labels": {"a": "b"}, "User": "1000:1000"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:1", "sha256:2"]},
    },
}
IMAGE = Image("12ab", "sha256:34cd", 1767323045, "amd64", {"a": "b"}, 2, "1000:1000")


def answering(text, rc=0):
    return lambda argv, *, timeout=None, env=None: CommandResult(rc, text, "")


@pytest.mark.parametrize(("program", "text"), [("podman", PODMANS), ("buildah", BUILDAHS)])
def test_both_say_the_same_of_an_image(program, text):
    assert Engine(program, answering(json.dumps(text))).inspect("x") == IMAGE
    assert Engine(program, answering("", 125)).inspect("x") is None


@pytest.mark.parametrize("program", ["podman", "buildah"])
@pytest.mark.parametrize("text", ["", "[]", "null", "3", '"x"', '[{"Labels": 3}]', '{"OCIv1": 3}'])
def test_an_answer_that_cannot_be_read_is_a_sentence(program, text):
    with pytest.raises(GaudiError, match=rf"{program} says nothing about the image x that can be read"):
        Engine(program, answering(text)).inspect("x")


def test_a_host_without_either_is_refused_by_the_package_s_name():
    with pytest.raises(GaudiError, match=r"neither podman nor buildah; install the package podman \(or buildah\)"):
        find_engine(answering("", 127))


def test_podman_is_taken_before_buildah():
    def has_buildah(argv, *, timeout=None, env=None):
        return CommandResult(0 if argv[0] == "buildah" else 127, "", "")

    assert find_engine(answering("")).program == "podman"
    assert find_engine(has_buildah).program == "buildah"


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        (
            "Error: pinging: http: server gave HTTP response to HTTPS client",
            r"reg\.example\.org:5000 has no TLS that this host trusts .*name reg\.example\.org in plain_http_hosts",
        ),
        ("x509: certificate signed by unknown authority", r"has no TLS that this host trusts"),
        ("Error: manifest unknown", r"the registry does not have it \(Error: manifest unknown\)"),
        ("Error: unauthorized: authentication required", r"log in there, and set authfile \(gaudi_image_authfile\)"),
        ("Error: something else", r"Cannot fetch x: Error: something else\."),
    ],
)
def test_what_a_registry_says_is_one_sentence(stderr, sentence):
    said = transfer_refusal("fetch", "x", "reg.example.org:5000", CommandResult(125, "", stderr))
    assert re.search(sentence, said)


def test_times_of_images():
    assert seconds("1970-01-01T00:00:07Z") == 7
    assert seconds("1970-01-01T02:00:07.5+02:00") == seconds("1969-12-31T23:00:07-01:00") == 7
    assert seconds("0001-01-01T00:00:00Z") == 0
    assert seconds("") == 0
