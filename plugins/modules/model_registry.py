#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: model_registry
short_description: Publish, verify and fetch models, and move their aliases
version_added: "1.0.0"
description:
  - Keeps models in a directory or a bucket, without a server. Each version has a record of its files and of where it
    comes from, signed in the form of OpenSSF's model signing with a key.
  - With O(path), publishes the model of that directory. With O(version), verifies a published one - every byte of every
    file against the signature.
  - Then copies it to O(destination) and sets O(alias) to it, if they are given. An alias is moved only from the version
    that it had when the task began, so that of several who move it at once one succeeds and the others are refused.
  - Needs C(openssl), and C(python3-boto3) for a bucket.
options:
  registry:
    description:
      - Place of the registry, a directory that only root may write (V(/srv/models)) or a bucket
        (V(s3://models/site)). boto3 on the host finds endpoint and credentials.
    type: str
    required: true
  name:
    description: Name of the model.
    type: str
    required: true
  path:
    description: Directory of an exported model to publish. It must contain plain files only.
    type: path
  version:
    description: Version of a published model, its first 12 digits or more, or an alias.
    type: str
    default: ""
  alias:
    description: "Alias to set to the version, such as V(candidate) or V(production). Empty: none."
    type: str
    default: ""
  expected:
    description:
      - Version that O(alias) must have before, V(none) if it must not exist. If it has another, and not the wanted one
        already, somebody moved it, and the task fails. Empty accepts the version that it has when the task begins.
    type: str
    default: ""
  destination:
    description: Directory to copy the verified version to. If it exists, it must be the same model.
    type: path
  fingerprint:
    description:
      - Fingerprint of the key that must have signed the version, as RV(fingerprint) of the task that published it.
      - "Empty: the key in the registry, which detects damage but not forgery."
    type: str
    default: ""
  signing_key:
    description: File with the private key that signs, on the curve P-256. It is made if missing.
    type: path
    default: /var/lib/gaudi3_scale/model-signing-key.pem
  facts:
    description:
      - What is known of the model beside its files, for its record. Unknown facts are left out.
    type: dict
    default: {}
    suboptions:
      job:
        description: Name of the training job.
        type: str
      commit:
        description: Commit of the training's sources.
        type: str
      step:
        description: Step of the checkpoint.
        type: int
      license:
        description: License of the model, and of what it was trained on.
        type: str
      data:
        description: Manifest of the training data, such as names and digests.
        type: dict
      flags:
        description: Environment flags of the training.
        type: dict
      versions:
        description: Versions of the software that trained it.
        type: dict
      driver:
        description: Version of the driver.
        type: str
      firmware:
        description: Versions of the firmware of the cards.
        type: list
        elements: str
      curve:
        description: Points of the loss curve, each with C(step) and C(loss).
        type: list
        elements: dict
  mlflow:
    description:
      - URL of an MLflow tracking server whose registry shows the same version and alias. If it does not answer, the
        task warns, and the next one with that version makes up for it.
      - "Empty: none."
    type: str
    default: ""
  mlflow_token_file:
    description: File of the host with the token for O(mlflow).
    type: path
attributes:
  check_mode:
    support: full
    description: Reads and verifies everything, and writes nothing.
  diff_mode:
    support: none
    description: A model has no text to compare.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Publish a model
  gaudi3.scale.model_registry:
    registry: /srv/models
    name: llama-support
    path: /shared/exports/llama
    alias: candidate
    facts:
      license: Llama 3.1 Community License
  register: model
  become: true

- name: Make it the model in production, if nobody else changed that
  gaudi3.scale.model_registry:
    registry: /srv/models
    name: llama-support
    version: candidate
    alias: production
    expected: 3f2a90c16e47
    fingerprint: "{{ model.fingerprint }}"
  become: true

- name: Copy the model in production to a local disk
  gaudi3.scale.model_registry:
    registry: s3://models/site
    name: llama-support
    version: production
    destination: /var/lib/models/llama-support
    fingerprint: "{{ model.fingerprint }}"
  become: true
"""

RETURN = r"""
name:
  description: Name of the model.
  type: str
  returned: success
version:
  description: Version, the SHA-256 of its record.
  type: str
  returned: success
path:
  description: Its directory or URL. Empty in check mode for a model that is not published yet.
  type: str
  returned: success
  sample: /srv/models/models/llama-support/versions/3f2a90c16e47...
fingerprint:
  description: Fingerprint of the key that signed it, the SHA-256 of its public half as PEM. Empty as RV(path).
  type: str
  returned: success
files:
  description: Files of the model.
  type: list
  elements: dict
  returned: success
  contains:
    path:
      description: Path within the model.
      type: str
    bytes:
      description: Size in bytes.
      type: int
    sha256:
      description: SHA-256 of its content.
      type: str
bytes:
  description: Total size in bytes.
  type: int
  returned: success
facts:
  description: Facts of its record, as O(facts).
  type: dict
  returned: success
new:
  description: Whether this task published it.
  type: bool
  returned: success
moved:
  description: Whether this task set O(alias).
  type: bool
  returned: success
alias_before:
  description: Version that O(alias) had when the task began. Empty if it did not exist.
  type: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._model.record import FACT_OPTIONS
from ansible_collections.gaudi3.scale.plugins.module_utils._model.state import SIGNING_KEY, ModelOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("version", "alias", "expected", "fingerprint", "mlflow", *(f"facts.{name}" for name in FACT_OPTIONS)),
        argument_spec={
            "registry": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "path": {"type": "path"},
            "version": {"type": "str", "default": ""},
            "alias": {"type": "str", "default": ""},
            "expected": {"type": "str", "default": ""},
            "destination": {"type": "path"},
            "fingerprint": {"type": "str", "default": ""},
            "signing_key": {"type": "path", "default": SIGNING_KEY, "no_log": False},
            "mlflow": {"type": "str", "default": ""},
            "mlflow_token_file": {"type": "path", "no_log": False},
            "facts": {"type": "dict", "default": {}, "options": FACT_OPTIONS},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    given: dict[str, Any] = {name: "" if value is None else value for name, value in options.items()}
    return converge(ModelOptions(**given), run_process, module.check_mode)


if __name__ == "__main__":
    main()
