# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The Makefile's targets as sessions of nox, for whoever is used to it from other collections: ``nox --list``.

Each installs what it needs by itself, into .venv of this checkout.
"""

from __future__ import annotations

import nox

TARGETS = {
    "lint": "Linters and types",
    "sanity": "ansible-test sanity",
    "unit": "Unit and contract tests",
    "molecule": "One scenario a role; needs root",
    "integration": "What needs the sandbox beside the roles; needs root",
    "site": "The documentation as a site",
    "certify": "What a certification asks for",
    "test": "What a change breaks first, in a quarter of an hour; needs root for the nodes",
    "test-nodes": "Every gate; needs root",
}
nox.options.sessions = ["lint", "sanity", "unit"]


def _session(target: str, what: str) -> None:
    def run(session: nox.Session) -> None:
        session.run("make", target, *session.posargs, external=True)

    run.__doc__ = what
    nox.session(run, name=target, python=False)


for _target, _what in TARGETS.items():
    _session(_target, _what)
