# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The probe's answer as a block of variables in a file of the operator's own; pure.

The operator's lines are never changed: only the block is, which nothing outside of it may contradict.
"""

from __future__ import annotations

import re

OPTION = "gaudi_batch_write_group_vars"
BEGIN, END = "# BEGIN probe_batch_size.yml", "# END probe_batch_size.yml"
_BLOCK = re.compile(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}$\n?", re.MULTILINE | re.DOTALL)
# A key may be in quotes.
_OWN = re.compile(r"""^["']?(gaudi_training_(?:batch_size|accumulation_steps|learning_rate))["']?\s*:""", re.MULTILINE)


def refusal(given: str, path: str, text: str) -> str:
    """Why the block cannot go into the file ``path``, which the operator named ``given`` and which has ``text``."""
    if "://" in given:
        return f"{OPTION} {given}: a block is written into it, so it must be a file on the controller; name one."
    if text.startswith("$ANSIBLE_VAULT"):
        return f"{OPTION}: {path} is encrypted; name another file, beside it."
    own = list(dict.fromkeys(_OWN.findall(_BLOCK.sub("", text))))
    if own:
        return f"{OPTION}: {path} sets {' and '.join(own)} in a line of your own; remove it, or name another file."
    return ""


def with_block(text: str, heading: str, values: dict[str, int | float]) -> str:
    """``text`` with the block in the place of an earlier one, else at its end."""
    lines = [BEGIN, f"# {heading}", *(f"{name}: {value}" for name, value in values.items()), END]
    block = "\n".join(lines) + "\n"
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _: block, text, count=1)
    return (text if not text or text.endswith("\n") else text + "\n") + block
