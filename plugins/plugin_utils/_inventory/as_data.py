# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What somebody else has written, kept from Ansible's templates."""

from __future__ import annotations

from ansible import template


def as_data(text: str) -> str:
    """The text, which is no template whatever it looks like.

    Since ansible-core 2.19 a text is one only where it is marked as such; an older one has to be told of each that is
    none, or it evaluates what is in braces.
    """
    if hasattr(template, "trust_as_template"):
        return text
    from ansible.utils.unsafe_proxy import wrap_var

    told: str = wrap_var(text)
    return told
