# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Text of another program, which Ansible must not evaluate as a template."""

from __future__ import annotations

from ansible import template


def as_data(text: str) -> str:
    """The text, marked as not a template.

    Since ansible-core 2.19 a text is a template only if it is marked as one. Older versions evaluate what is in braces
    unless the text is marked as unsafe.
    """
    if hasattr(template, "trust_as_template"):
        return text
    from ansible.utils.unsafe_proxy import wrap_var

    unsafe: str = wrap_var(text)
    return unsafe
