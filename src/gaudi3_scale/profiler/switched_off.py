# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The variable by which the vendor's bridge is told to leave the cards out of every trace."""

from __future__ import annotations

from gaudi3_scale.core._errors import GaudiError


def refuse_switched_off(value: str | None) -> None:
    """Raises GaudiError for that value of HABANA_PROFILE."""
    if value == "0":
        raise GaudiError(
            "HABANA_PROFILE=0 leaves the cards out of every trace; unset it, or give it the value profile_api_light."
        )
