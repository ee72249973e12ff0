# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Secrets in a text: by the name before them, by their place in a URL, and by the forms that services give tokens."""

from __future__ import annotations

import re
from typing import Callable

HIDDEN = "(not shown)"

# A part of a name between separators, or (PGPASSWORD, apiKey) its end. MAX_TOKENS, TOKENIZERS_PARALLELISM and
# num_key_value_heads are none.
_SECRET = re.compile(
    r"""(?:
        (?:^|[_.-])(?:KEYS?(?!_VALUE)|AUTH|AUTHORIZATION|COOKIES?|SIG|SIGNATURE|PAT|CREDS?|DSN|JWT|PW|OTP|TOTP)
        | (?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)KEYS?
        | (?:SSH|DB|FTP|SMTP|MAIL|LDAP|REDIS|USER)PASS
        | TOKEN | SECRETS? | PASSWORD | PASSWD | PASSPHRASE | CREDENTIALS? | WEBHOOKS?
        | CONN(?:ECTION)?_?STR(?:ING)?
        | (?<=[_.-])PWD
    )(?:[_.-]|\d|$)
    # Passes of the vendor's compiler are none: PT_HPU_USE_FUSE_SDPA_PASS, GVD_PASS_FILTER.
    | (?:^|[_.-])(?<!SDPA_)(?<!PERF_)(?<!ALIZE_)PASS\d*$""",
    re.IGNORECASE | re.VERBOSE,
)
# RFC 3986: the user-info ends at the last @ before the path. A token often stands there without a name.
_USER = re.compile(r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s?#\"']*@")
# Before each value a name that has to sound like a secret.
_NAMED = (
    re.compile(r"(?P<before>[?&;](?P<name>[A-Za-z][\w.-]*)=)[^&;#\s\"']+"),
    # An option with its value as a word of a command, quoted or not; +logger.wandb_key= is Hydra's.
    re.compile(r"(?P<before>(?<![\w-])(?:--?|\+{1,2})(?P<name>[A-Za-z][\w.-]*)=)(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+"),
    # The value as the word after it.
    re.compile(
        r"(?P<before>(?<![\w-])--?(?P<name>[A-Za-z][\w.-]*)[\"']?[ \t]+)(?:\"[^\"]*\"|'[^']*'|[^\s\"'-][^\s\"']*)"
    ),
    # A member of a document, also of one within quotes.
    re.compile(
        r"(?P<before>\\*[\"'](?P<name>[A-Za-z_][\w.-]*)\\*[\"']\s*:\s*)"
        r"(?:\\*\"[^\"\\]*\\*\"|'[^']*'|[^\s,}\]\"'\[{(][^\s,}\]]*)"
    ),
)
_HEADER = re.compile(
    r"(?P<before>(?:\b(?:proxy-)?authorization|\bx-[\w-]*(?:key|token|auth|secret)[\w-]*|\b(?:set-)?cookie)\s*:\s*)"
    r"(?!\(not shown\))(?:(?:bearer|basic|token|digest)\s+)?[^\s\"']+",
    re.IGNORECASE,
)
# As the services document them: GitHub, Hugging Face, OpenAI and Anthropic, Slack, Amazon, Google, GitLab, a JSON Web
# Token (RFC 7519), and the addresses of webhooks, which are all that their sender has to know.
_FORMS = re.compile(
    r"""(?:
        \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bhf_[A-Za-z0-9]{20,} | \bsk-[A-Za-z0-9_-]{20,}
        | \bxox[abeoprs]-[A-Za-z0-9-]{10,} | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b | \bAIza[A-Za-z0-9_-]{30,}
        | \bglpat-[A-Za-z0-9_-]{16,} | \beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*
        | (?<=//hooks\.slack\.com/)[^\s"']+ | (?<=//discord\.com/api/webhooks/)[^\s"']+
        | (?<=\bbearer\ )[A-Za-z0-9._~+/=-]{8,}
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, an option or a key of this name sounds as if its value were a secret."""
    return _SECRET.search(name) is not None


def without_shapes(text: str, is_secret: Callable[[str], bool] = is_secret_name) -> str:
    """The text without what is in it as a secret does."""
    text = _USER.sub(rf"\g<before>{HIDDEN}@", text)
    for pattern in _NAMED:
        text = pattern.sub(lambda found: found["before"] + HIDDEN if is_secret(found["name"]) else found[0], text)
    text = _HEADER.sub(rf"\g<before>{HIDDEN}", text)
    return _FORMS.sub(HIDDEN, text)
