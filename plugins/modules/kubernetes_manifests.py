#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_manifests
short_description: Write a training job or instances that serve as Kubernetes manifests
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Writes the objects of one job to one file - a ConfigMap with the flags, and an indexed Job with its Service, a
    JobSet, or a TrainJob with its runtime - or the Deployments and Services of instances that serve. Applies nothing.
  - Fails before it writes anything if the objects could not run, or if the job has options that pods do not have.
  - Runs on the controller.
options:
  name:
    description: Name of the job and its objects, and of the file.
    type: str
    required: true
  job:
    description:
      - Options of a launch, as O(gaudi3.scale.training_job_launch#module:options). Those that pods do not have are
        ignored.
    type: dict
    default: {}
  serving:
    description: What all instances share, as options of the module M(gaudi3.scale.model_serving).
    type: dict
    suboptions:
      engine_version:
        description: "Version of vLLM and its plug-in. Empty: the newest that was tested with O(release)."
        type: str
        default: ""
      accept_holes:
        description: Known holes of the engine's version that the site accepts, by name.
        type: list
        elements: str
        default: []
      drain_timeout:
        description: Seconds that requests get to end when a pod is stopped.
        type: int
        default: 120
      ready_timeout:
        description: Seconds that a pod may take from its start to its first answer.
        type: int
        default: 7200
  max_restarts:
    description: Maximum number of restarts after failures.
    type: int
    default: 3
  only_on_hosts:
    description: Values of a launch's options that have no effect in pods, by their names. A value that is set fails.
    type: dict
    default: {}
  flags:
    description: Options of the flags, as those of the module M(gaudi3.scale.hpu_flags).
    type: dict
    suboptions:
      profile:
        description: Kind of job.
        type: str
        default: training_compile
      network:
        description: Network between the nodes. V(auto) stands for V(gaudi_ethernet).
        type: str
        default: auto
      overrides:
        description: Flags to set or change.
        type: dict
        default: {}
      environment:
        description: Other variables.
        type: dict
        default: {}
      recipe_cache:
        description: Directory for compiled recipes.
        type: str
        default: /var/lib/gaudi3_scale/recipe_cache
      recipe_cache_size:
        description: Maximum size of a directory of recipes, in megabytes.
        type: int
        default: 8192
      strict:
        description: Whether to also refuse flags with warnings.
        type: bool
        default: false
  release:
    description: Release of the Gaudi software.
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases in the release table.
    type: dict
    default: {}
  cards_per_node:
    description: Number of cards per node.
    type: int
    default: 8
  kind:
    description: V(job), V(jobset) or V(trainjob) for a training, V(deployment) for instances that serve.
    type: str
    default: job
  version:
    description: "Version of the cluster. Empty: the newest that the release supports."
    type: str
    default: ""
  image:
    description: Image with its digest.
    type: str
    required: true
  nodes:
    description: Number of pods.
    type: int
    required: true
  namespace:
    description: "Namespace of the objects. Empty: none is named."
    type: str
    default: ""
  directory:
    description: Directory for the file on the controller, or C(s3://BUCKET/PREFIX).
    type: str
    required: true
  cards_from:
    description: V(device_plugin) or V(dra).
    type: str
    choices: [device_plugin, dra]
    default: device_plugin
  resources:
    description: Resources of a pod beside its cards.
    type: dict
    default: {}
  volumes:
    description: PersistentVolumeClaims to mount.
    type: list
    elements: dict
    default: []
    suboptions:
      claim:
        description: Name of the claim.
        type: str
        required: true
      path:
        description: Path in the pods.
        type: str
        required: true
      read_only:
        description: Whether pods may only read it.
        type: bool
        default: false
  secrets:
    description: Secrets whose keys become variables.
    type: list
    elements: str
    default: []
  tolerations:
    description: Tolerations of the pods.
    type: list
    elements: dict
    default: []
  queue:
    description: "Kueue's local queue. Empty: none."
    type: str
    default: ""
  security_context:
    description: Fields of the container's security context that differ.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Writes nothing, and shows what it would write.
  diff_mode:
    support: full
    description: Shows the file.
seealso:
  - module: gaudi3.scale.training_job_launch
  - module: gaudi3.scale.hpu_flags
extends_documentation_fragment:
  - gaudi3.scale.instances
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Write a job of two pods
  gaudi3.scale.kubernetes_manifests:
    name: llama
    job:
      command: [/srv/train.py, --max-steps, "1000"]
    release: 1.24.1
    image: registry.example.org/llama@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    nodes: 2
    directory: manifests
    resources: {cpu: 128, memory: 690Gi, hugepages-2Mi: 42000Mi}
  run_once: true
"""

RETURN = r"""
path:
  description: The file, or its URL.
  type: str
  returned: success
  sample: /home/jane/gaudi3_scale_kubernetes/llama.yml
objects:
  description: Its objects, in the order in which they are created.
  type: list
  elements: dict
  returned: success
  contains:
    kind:
      description: Kind of the object.
      type: str
      sample: Job
    name:
      description: Name of the object.
      type: str
      sample: llama
"""
