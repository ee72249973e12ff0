# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an extra needs is told by its own requirements, never by the distribution's name."""

from __future__ import annotations

from importlib import metadata

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.extras import requirements_of

NEEDS = [
    "lightning<2.7,>=2.6",
    'optuna<6,>=5; extra == "tune"',
    "grpcio>=1.70 ; extra == 'tune'",
    'tomli>=2; python_version < "3.11" and extra == "tune"',
    'boto3>=1.34; extra == "s3"',
]


@pytest.mark.parametrize(
    ("extra", "expected"), [("tune", ["optuna<6,>=5", "grpcio>=1.70", "tomli>=2"]), ("s3", ["boto3>=1.34"])]
)
def test_an_extra_is_its_own_requirements(monkeypatch, extra, expected):
    monkeypatch.setattr(metadata, "requires", lambda _name: NEEDS)
    assert requirements_of(extra) == expected


def test_an_unknown_extra_is_one_sentence(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda _name: NEEDS)
    with pytest.raises(GaudiError, match="with an extra hf; add hf to gaudi_venv_extras and run"):
        requirements_of("hf")


def test_a_node_library_that_is_not_installed_is_the_same_sentence(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    with pytest.raises(GaudiError, match="gaudi3-scale is not installed in this Python with an extra s3"):
        requirements_of("s3")
