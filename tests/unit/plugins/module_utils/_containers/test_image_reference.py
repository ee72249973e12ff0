# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An image's name taken apart, for a job and for a build alike."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.image_reference import (
    DIGEST,
    FORM,
    LOGIN,
    PATH,
    SCHEME,
    NoReference,
    Reference,
    host_alone,
    read_reference,
    tls_words,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image.base import parse_reference as base_reference
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.reference import (
    parse_reference as job_reference,
)

SHA = f"sha256:{'0a' * 32}"
NAME = "registry.example.org:5000/team/train"


@pytest.mark.parametrize(
    ("text", "reference", "whole", "host"),
    [
        (f"{NAME}:v1@{SHA}", Reference("docker", NAME, "v1", SHA), f"{NAME}:v1@{SHA}", "registry.example.org:5000"),
        (f"docker://{NAME}", Reference("docker", NAME), NAME, "registry.example.org:5000"),
        ("localhost/a__b/c.d:1", Reference("docker", "localhost/a__b/c.d", "1"), "localhost/a__b/c.d:1", "localhost"),
        ("[fd00::1]:5000/a:1", Reference("docker", "[fd00::1]:5000/a", "1"), "[fd00::1]:5000/a:1", "[fd00::1]:5000"),
        (f"oci-archive:/a.tar@{SHA}", Reference("oci-archive", "/a.tar", "", SHA), f"/a.tar@{SHA}", ""),
    ],
)
def test_what_is_named(text, reference, whole, host):
    found = read_reference(text)
    assert found == reference
    assert (found.whole, found.host) == (whole, host)


@pytest.mark.parametrize(
    ("text", "reason", "value"),
    [
        ("https://me:hunter2@registry.example.org/a:1", SCHEME, "https"),
        ("me:hunter2@registry.example.org/a:1", LOGIN, ""),
        ("docker://me:hunter2@registry.example.org/a:1", LOGIN, ""),
        ("me:hun/ter2@registry.example.org/a:1", LOGIN, ""),
        ("me@registry.example.org/a:1", LOGIN, ""),
        (f"{NAME}@md5:{'0' * 64}", DIGEST, f"md5:{'0' * 64}"),
        (f"{NAME}@v1", DIGEST, "v1"),
        (f"{NAME}@{SHA}\n", DIGEST, f"{SHA}\n"),
        ("docker-archive:train.tar", PATH, "docker-archive:train.tar"),
        ("oci-archive:/srv/../etc/a.tar", PATH, "oci-archive:/srv/../etc/a.tar"),
        ("", FORM, ""),
        ("train:1", FORM, "train:1"),
        ("registry.example.org/Team/train", FORM, "registry.example.org/Team/train"),
        ("registry.example.org/a:", FORM, "registry.example.org/a:"),
        ("registry.example.org/a..b:1", FORM, "registry.example.org/a..b:1"),
        ("docker:registry.example.org/a:1", FORM, "docker:registry.example.org/a:1"),
    ],
)
def test_what_is_no_name_says_why_and_shows_no_password(text, reason, value):
    assert read_reference(text) == NoReference(reason, value)


@pytest.mark.parametrize("text", [f"{NAME}:v1@{SHA}", f"docker://{NAME}@{SHA}", "me:hunter2@r.example.org/a:1", "a:1"])
def test_a_job_and_a_build_take_the_same_names(text):
    """Each in its own words where it does not, and a job without the tag that a digest overrules."""

    def taken(parse):
        try:
            return parse().pinned
        except GaudiError as refused:
            assert "hunter2" not in str(refused)
            return None

    assert taken(lambda: job_reference(text)) == taken(lambda: base_reference(text, "push (gaudi_image_push)"))


@pytest.mark.parametrize("text", ["oci-archive:/srv/a.tar", "docker-archive:a.tar", "/srv/a.tar", "pytorch"])
def test_nothing_but_a_registry_is_pushed_to(text):
    with pytest.raises(GaudiError, match=r"^push \(gaudi_image_push\) is .*; write it in full") as refused:
        base_reference(text, "push (gaudi_image_push)")
    assert refused.value.facts["option"] == "push"


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ([], ()),
        (["other.example.org"], ()),
        (["Registry.example.org"], ("--tls-verify=false",)),
        (["registry.example.org:5000"], ("--tls-verify=false",)),
        (["registry.example.org:443"], ()),
    ],
)
def test_only_a_named_host_may_be_without_tls(hosts, words):
    assert tls_words(job_reference(f"{NAME}:v1").host, hosts) == words
    assert tls_words(job_reference("oci-archive:/a.tar").host, hosts) == ()


@pytest.mark.parametrize(
    ("host", "alone"),
    [("registry:5000", "registry"), ("localhost", "localhost"), ("[fd00::1]:5000", "[fd00::1]"), ("[::1]", "[::1]")],
)
def test_a_host_without_its_port(host, alone):
    assert host_alone(host) == alone
