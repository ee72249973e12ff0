# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.image_reference import Reference
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.reference import (
    parse_pinned,
    parse_reference,
)

DIGEST = f"sha256:{'0a' * 32}"
NAME = "registry.example.org:5000/team/train"


@pytest.mark.parametrize(
    ("text", "reference", "source"),
    [
        (f"{NAME}:1.24.1-482", Reference("docker", NAME, "1.24.1-482"), f"docker://{NAME}:1.24.1-482"),
        (f"docker://{NAME}:v1", Reference("docker", NAME, "v1"), f"docker://{NAME}:v1"),
        # The digest alone decides.
        (f"{NAME}:v1@{DIGEST}", Reference("docker", NAME, "", DIGEST), f"docker://{NAME}@{DIGEST}"),
        (f"{NAME}@{DIGEST}", Reference("docker", NAME, "", DIGEST), f"docker://{NAME}@{DIGEST}"),
        ("localhost/a__b/c.d:1", Reference("docker", "localhost/a__b/c.d", "1"), "docker://localhost/a__b/c.d:1"),
        ("registry:5000/a:1", Reference("docker", "registry:5000/a", "1"), "docker://registry:5000/a:1"),
        (
            "oci-archive:/srv/images/train.tar",
            Reference("oci-archive", "/srv/images/train.tar"),
            "oci-archive:/srv/images/train.tar",
        ),
        (
            f"docker-archive:/srv/t.tar:team/train:v1@{DIGEST}",
            Reference("docker-archive", "/srv/t.tar", "team/train:v1", DIGEST),
            "docker-archive:/srv/t.tar:team/train:v1",
        ),
    ],
)
def test_what_is_named(text, reference, source):
    parsed = parse_reference(text)
    assert parsed == reference
    assert parsed.source == source
    # What a job keeps is read again as the same.
    assert parse_pinned(parsed.with_digest(DIGEST).pinned).with_digest("") == reference.with_digest("") or parsed.tag


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--privileged registry.example.org/a:1", "the container of a job is never privileged"),
        ("train:1", "give it as REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"),
        ("team/train:1", "give it as REGISTRY/NAME:TAG"),
        ("", "give it as REGISTRY/NAME:TAG"),
        (NAME, "has no tag, which means another image from one day to the next"),
        (f"{NAME}:latest", "has the tag latest, which means another image from one day to the next"),
        ("https://user:secret@registry.example.org/a:1", "give the image's name without https://"),
        ("user:secret@registry.example.org/a:1", "has a user and a password in it; remove them"),
        ("docker://user:secret@registry.example.org/a:1", "has a user and a password in it; remove them"),
        (f"{NAME}@sha256:12", "give sha256: and 64 hexadecimal digits"),
        (f"{NAME}@md5:{'0' * 64}", "give sha256: and 64 hexadecimal digits"),
        ("oci-archive:train.tar", "give its whole path on the nodes, as oci-archive:/srv/train.tar"),
        ("oci-archive:/srv/../etc/train.tar", "give its whole path on the nodes"),
        ("registry.example.org/Team/train:1", "give it as REGISTRY/NAME:TAG"),
        ("registry.example.org/a:1 --privileged", "give it as REGISTRY/NAME:TAG"),
        ("registry.example.org/a:1\n", "give it as REGISTRY/NAME:TAG"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(text, said):
    with pytest.raises(GaudiError) as refused:
        parse_reference(text)
    assert said in str(refused.value)
    assert str(refused.value).startswith("image ")
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_job_has_a_digest():
    with pytest.raises(GaudiError, match="has no digest; give it as NAME@sha256:DIGEST"):
        parse_pinned(f"{NAME}:v1")
    assert parse_pinned(f"{NAME}:v1@{DIGEST}").pinned == f"{NAME}@{DIGEST}"
