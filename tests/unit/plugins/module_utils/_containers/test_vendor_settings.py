# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's config.toml: judged keys are merged, hand edits stay, what is no setting is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.vendor_settings import config_toml, why_no_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

PATH = "/etc/habana-container-runtime/config.toml"
# The shape of the vendor's file: one key, commented keys, then tables.
SHIPPED = """\
disable-require = false
#mount_accelerators = false

[habana-container-cli]
environment = []
log_file = "/var/log/habana-container-hook.log"

[habana-container-runtime]
# mode = "legacy"
"""


def test_keys_go_where_they_belong_and_all_else_stays() -> None:
    settings = {"mount_uverbs": False, "habana-container-runtime": {"log_level": "debug", "systemd_cgroup": True}}
    after = config_toml(SHIPPED, PATH, settings)
    assert after == SHIPPED.replace(
        "disable-require = false\n", "disable-require = false\nmount_uverbs = false\n"
    ).replace(
        "[habana-container-runtime]\n", '[habana-container-runtime]\n  log_level = "debug"\n  systemd_cgroup = true\n'
    )
    assert config_toml(after, PATH, settings) == after


def test_a_value_that_is_there_is_replaced_in_its_place() -> None:
    after = config_toml(SHIPPED, PATH, {"disable-require": True, "habana-container-cli": {"environment": ["A=1"]}})
    assert after.startswith("disable-require = true\n#mount_accelerators = false\n")
    assert 'environment = ["A=1"]\nlog_file' in after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (None, "mount_uverbs = false\n"),
        ("", "mount_uverbs = false\n"),
        ("# ours\n[network-layer-routes]\n", "mount_uverbs = false\n# ours\n[network-layer-routes]\n"),
        ("binaries-dir = '/b'", "binaries-dir = '/b'\nmount_uverbs = false\n"),
    ],
)
def test_a_key_at_the_top_of_a_file_without_one(text: str | None, after: str) -> None:
    assert config_toml(text, PATH, {"mount_uverbs": False}) == after
    assert config_toml(after, PATH, {"mount_uverbs": False}) == after


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mount_uverb": False}, r"'mount_uverb' is not a setting of .*; did you mean mount_uverbs\?$"),
        ({"habana-container-runtime": {"modus": "oci"}}, r"did you mean habana-container-runtime.mode\?$"),
        ({"zzz": 1}, r"'zzz' is not a setting of .*; there are disable-require, "),
        ({"mount_uverbs": "no"}, r"mount_uverbs takes true or false, not 'no'"),
        ({"mount_uverbs": 0}, r"takes true or false, not 0"),
        ({"habana-container-runtime": {"mode": "nvidia"}}, r"mode takes oci or legacy or cdi, not 'nvidia'"),
        ({"binaries-dir": "bin"}, r"binaries-dir takes an absolute path, not 'bin'"),
        ({"habana-container-cli": {"environment": "A=1"}}, r"takes a list of NAME=VALUE, not 'A=1'"),
        ({"habana-container-runtime": True}, r"'habana-container-runtime' is not a setting"),
    ],
)
def test_what_is_no_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        config_toml(SHIPPED, PATH, settings)


def test_a_file_that_cannot_be_followed_is_refused() -> None:
    with pytest.raises(GaudiError, match=rf"^{PATH} cannot be merged into \(line 1: "):
        config_toml("mode oci\n", PATH, {"mount_uverbs": False})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, None),
        (SHIPPED, None),
        ("[habana-container-runtime]\nmode = 'cdi'\n", f'{PATH} says mode = "cdi"'),
        ("mount_accelerators = false\n", f"{PATH} says mount_accelerators = false"),
    ],
)
def test_settings_with_which_the_runtime_passes_no_cards(text: str | None, why: str | None) -> None:
    assert why_no_cards(text, PATH) == why
