# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What may stand in units, in commands of root, and in configuration of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_options import checked
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import (
    check_account_field,
    check_group,
    check_mtu,
    check_package,
    check_place,
    check_unit,
    check_version,
)

Check = Callable[[str, Any], None]
RIGHT: list[tuple[Check, list[Any]]] = [
    (check_place, ["/", "/opt/gaudi3_scale/venv", "/usr/bin/prometheus-alertmanager", "/srv/a+b@c:d/e~1", "/a/"]),
    (check_account_field, ["/home/gaudi", "/usr/sbin/nologin"]),
    (check_unit, ["prometheus.service", "gaudi3-scale-metrics@cards.service", "a.timer"]),
    (
        check_package,
        ["curl", "g++", "libstdc++6", "curl=7.88.1-10+deb12u5", "linux-headers-{kernel}", "R", "libc6:amd64"],
    ),
    (check_package, ["kernel-devel-5.14.0-427.el9.x86_64", "habanalabs-dkms=1.24.1-482", "perl-Tk", "@x"][:3]),
    (check_version, ["1.24.1", "1.24.1-482", "1.20"]),
    (check_group, ["prometheus", "render", "_apt", "machine$"]),
    (check_mtu, [1280, 1500, 4200, 9000, 65520]),
]
WRONG: list[tuple[Check, list[Any]]] = [
    (
        check_place,
        ["bin/x", "/a b", "/a%h", '/a"b', "/a'b", "/a\\b", "/a/../b", "/..", "/a#b", "/a;b", "/a\nb", "/a$b", "//"],
    ),
    (check_account_field, ["/home/a:b", "/home/a b", "home"]),
    (check_unit, ["x", "../../../tmp/x.service", "/tmp/x.service", "a b.service", "--now", ".service", "a%i.service"]),
    (
        check_package,
        ["-oDebug::X=1", "a;id", "/tmp/a.deb", "./a.deb", "https://x/a.deb", "curl-", "a b", "", "a/bookworm"],
    ),
    (check_version, ["x y", "latest", "1", "1.24.1 ", "$(id)", "1.24.1;id"]),
    (check_group, ["a b", "a:b", "-x", "1000", "a" * 40]),
    (check_mtu, [0, -1, 1279, 65521, 10**9]),
]


@pytest.mark.parametrize(("check", "value"), [(check, value) for check, values in RIGHT for value in values])
def test_what_is_meant_is_taken(check: Check, value: Any) -> None:
    check("option", value)


@pytest.mark.parametrize(("check", "value"), [(check, value) for check, values in WRONG for value in values])
def test_what_would_be_read_otherwise_is_refused_in_one_sentence(check: Check, value: Any) -> None:
    with pytest.raises(GaudiError, match=r"^option (is|has) .*; give ") as refused:
        check("option", value)
    assert str(refused.value).count(". ") <= 1 and str(refused.value).isprintable()


def test_the_door_asks_each_value_of_an_option_and_of_a_suboption() -> None:
    spec = {
        "names": {"type": "list", "elements": "str", "default": ["a b"]},
        "parts": {"type": "dict", "options": {"apt": {"type": "list", "elements": "str"}}},
        "unit": {"type": "str", "default": ""},
    }
    forms: dict[str, Check] = {"names": check_package, "parts.apt": check_package, "unit": check_unit}
    checked({"names": ["a b"], "parts": {"apt": ["curl"]}, "unit": ""}, spec, forms=forms)
    with pytest.raises(GaudiError, match=r"^names has 'curl-'; give names of the distribution's packages"):
        checked({"names": ["curl", "curl-"]}, spec, forms=forms)
    with pytest.raises(GaudiError, match=r"^parts.apt has '-o'; give names of the distribution's packages"):
        checked({"parts": {"apt": ["-o"]}}, spec, forms=forms)
