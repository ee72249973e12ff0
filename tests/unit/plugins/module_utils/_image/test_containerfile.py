# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The rendered file, word for word, and what must not be in it."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._image.containerfile import Recipe, render

BASE = f"registry.example.org/pytorch@sha256:{'1' * 64}"
RECIPE = Recipe(
    BASE,
    1767323045,
    {"scale.gaudi3.release": "1.24.1-482", "org.opencontainers.image.title": "llm"},
    os_packages=["libaio1", "curl=7.81.0-1"],
    environment={"PT_HPU_LAZY_MODE": 0, "QUOTED": 'a "$HOME" b\\'},
    build_arguments={"MAX_JOBS": 4},
    command=["python3", "train.py"],
)
GOLDEN = f"""\
# Written by gaudi3.scale: build_image.yml writes it anew.
FROM {BASE}
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \\
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \\
    --mount=type=secret,id=gaudi3_scale_apt,target=/run/secrets/gaudi3_scale_apt,mode=0444 \\
    --mount=type=secret,id=gaudi3_scale_sources,target=/run/secrets/gaudi3_scale_sources,mode=0444 \\
    --mount=type=secret,id=gaudi3_scale_key.asc,target=/run/secrets/gaudi3_scale_key.asc,mode=0444 \\
    export DEBIAN_FRONTEND=noninteractive APT_CONFIG=/run/secrets/gaudi3_scale_apt \
SOURCE_DATE_EPOCH=1767323045 && \\
    apt-get -q update && \\
    apt-get -q install --yes --no-install-recommends curl=7.81.0-1 libaio1 && \\
    rm -rf /etc/group- /etc/gshadow- /etc/passwd- /etc/shadow- /var/cache/debconf/*-old \
/var/cache/ldconfig/aux-cache /var/lib/dpkg/*-old /var/log/alternatives.log /var/log/apt /var/log/dpkg.log
COPY --chown=0:0 requirements.txt pip-constraints.txt /etc/gaudi3_scale/
RUN --mount=type=cache,target=/var/cache/pip,sharing=locked \\
    --mount=type=secret,id=gaudi3_scale_pip,target=/run/secrets/gaudi3_scale_pip,mode=0444 \\
    --mount=type=secret,id=gaudi3_scale_wheels.html,target=/run/secrets/gaudi3_scale_wheels.html,mode=0444 \\
    SOURCE_DATE_EPOCH=1767323045 MAX_JOBS=4 \\
    PIP_CONFIG_FILE=/run/secrets/gaudi3_scale_pip PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore \\
    PYTHONDONTWRITEBYTECODE=1 python3 -m pip install --no-compile --disable-pip-version-check --no-input \\
    --cache-dir /var/cache/pip --constraint /etc/gaudi3_scale/pip-constraints.txt \
--requirement /etc/gaudi3_scale/requirements.txt
ENV HOME="/tmp" \\
    USER="gaudi" \\
    LOGNAME="gaudi" \\
    PIP_CONSTRAINT="/etc/gaudi3_scale/pip-constraints.txt" \\
    PT_HPU_LAZY_MODE="0" \\
    QUOTED="a \\"\\$HOME\\" b\\\\"
WORKDIR /workspace
USER 1000:1000
CMD ["python3", "train.py"]
# What changes with each commit comes last.
COPY --chown=0:0 code/ /workspace/
LABEL org.opencontainers.image.title="llm" \\
      scale.gaudi3.release="1.24.1-482"
"""


def test_the_file_is_this_one():
    assert render(RECIPE) == GOLDEN


def test_a_change_of_the_code_s_labels_changes_the_last_instruction_alone():
    before, after = (render(Recipe(BASE, 0, {"scale.gaudi3.inputs": inputs})).splitlines() for inputs in "ab")
    assert [number for number, (one, other) in enumerate(zip(before, after, strict=True)) if one != other] == [
        len(before) - 1
    ]


def test_a_base_of_another_user_is_built_on_as_root():
    assert "\nUSER 0:0\n" in render(Recipe(BASE, 0, {}, base_is_roots=False))
    assert "USER 0:0" not in render(RECIPE)


def test_what_is_given_to_pip_is_one_word_of_the_shell():
    assert "FLAGS='a; rm -rf /'" in render(Recipe(BASE, 0, {}, build_arguments={"FLAGS": "a; rm -rf /"}))


def test_without_packages_nothing_is_run():
    text = render(Recipe(BASE, 0, {"a": "b"}, requirements=False))
    assert "RUN" not in text and "COPY --chown=0:0 pip-constraints.txt /etc/gaudi3_scale/" in text


def test_another_package_manager_is_asked_in_its_words():
    text = render(Recipe(BASE, 0, {}, uses_apt=False, os_packages=["libaio"]))
    assert "dnf --assumeyes" in text and "apt-get" not in text
