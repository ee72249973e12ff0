# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The containers that count cards: their commands, bad options, and what is said of what they saw."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.container_start import (
    Start,
    StartOptions,
    addresses,
    complaint,
    refuse_bad_options,
    starts,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

CARDS = frozenset(f"0000:{number:02x}:00.0" for number in range(0x33, 0x3B))
RUNTIME = Start("podman", "runtime", ())
CDI = Start("docker", "cdi", ())


def listing(cards: Any) -> str:
    return "\n".join(["bus_id", *sorted(cards)]) + "\n"


def test_a_container_for_each_way_with_the_nodes_network_and_programs() -> None:
    options = StartOptions(("podman",), cdi=True, mounts=("/opt/x",))
    runtime, cdi = starts(options, {"podman": ["runtime", "cdi"]}, ["/usr"])
    assert runtime.argv == (
        "podman", "run", "--rm", "--name", "gaudi3-scale-check", "--network", "host",
        "--security-opt", "label=disable", "--runtime", "habana", "--env", "HABANA_VISIBLE_DEVICES=all",
        "--volume=/usr:/usr:ro", "--volume=/opt/x:/opt/x:ro", "--entrypoint", "/bin/sh", "gaudi3-scale-check:latest",
        "-c", 'echo "$HABANA_RUNTIME_ERROR" >&2; exec hl-smi -Q bus_id -f csv',
    )  # fmt: skip
    assert cdi.argv[9:12] == ("--device", "habana.ai/gaudi=all", "--volume=/usr:/usr:ro")


def test_an_image_that_is_named_has_its_own_programs() -> None:
    options = StartOptions(("docker",), image="registry.example.org:5000/gaudi@sha256:0a", mounts=("/opt/x",))
    (start,) = starts(options, {"docker": ["runtime"]}, ["/usr"])
    assert not [word for word in start.argv if word.startswith("--volume")]
    assert "registry.example.org:5000/gaudi@sha256:0a" in start.argv


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"image": "my image"},
            "^image: 'my image' is not the name of a container image; give it as registry/name:tag.$",
        ),
        ({"image": "--privileged"}, "is not the name of a container image"),
        ({"mounts": ("opt",)}, "^mounts: 'opt' is not an absolute path"),
        ({"mounts": ("/a:/etc",)}, "^mounts: '/a:/etc' is not an absolute path"),
        ({"seconds": 0}, "^seconds: 0 is too short"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        refuse_bad_options(StartOptions(("podman",), **options))


def test_only_addresses_count() -> None:
    assert addresses(listing(CARDS)) == CARDS
    assert addresses("bus_id\nno AIPs available, aborting...\n") == frozenset()
    assert addresses("") == frozenset()


def test_a_container_that_sees_the_nodes_cards_is_fine() -> None:
    assert complaint(RUNTIME, CommandResult(0, listing(CARDS), "\n"), CARDS, 60) is None


@pytest.mark.parametrize(
    ("start", "result", "sentence"),
    [
        (
            CDI,
            CommandResult(0, listing(CARDS - {"0000:35:00.0"}), "\n"),
            (
                "hl-smi in a container of docker with --device habana.ai/gaudi=all sees 7 of 8 cards (0000:35:00.0 is "
                "missing); compare /etc/cdi/gaudi3-scale.json with /dev/accel."
            ),
        ),
        (
            RUNTIME,
            CommandResult(1, "", '"no accelerators found"\n'),
            (
                "hl-smi in a container of podman with the runtime habana sees 0 of 8 cards "
                f"({', '.join(sorted(CARDS))} are missing), and said '\"no accelerators found\"'; see "
                "/var/log/habana-container-runtime.log and /etc/habana-container-runtime/config.toml."
            ),
        ),
        (
            CDI,
            CommandResult(126, "", "Error: unresolvable CDI devices habana.ai/gaudi=all\n"),
            (
                "docker cannot start a container with --device habana.ai/gaudi=all (Error: unresolvable CDI devices "
                "habana.ai/gaudi=all); compare /etc/cdi/gaudi3-scale.json with /dev/accel."
            ),
        ),
        (
            RUNTIME,
            CommandResult(124, "", "podman: timed out after 60 s"),
            "podman with the runtime habana did not finish within 60 s; see `podman info`.",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(start: Start, result: CommandResult, sentence: str) -> None:
    assert complaint(start, result, CARDS, 60) == sentence
