# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What can name a network interface, in the forms that HCCL takes."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.interface_names import check_interfaces


@pytest.mark.parametrize(
    "value", ["", "eth0", "enp1s0f0.100", "ens1,ens2", "^lo,docker0", "=ib0", "bond0:1", "wlp0s20f3"]
)
def test_names_are_taken(value: str) -> None:
    check_interfaces("interface", value)


@pytest.mark.parametrize("value", ["-x", "$(id)", "a b", "eth0\n", "eth0,", "a/b", "abcdefghijklmnop", "٣", "--help"])
def test_what_is_none_is_refused_by_option_and_value(value: str) -> None:
    with pytest.raises(
        GaudiError, match=r"^interface is .*, which is not the name of a network interface; give names"
    ) as refused:
        check_interfaces("interface", value)
    assert repr(value) in str(refused.value)
