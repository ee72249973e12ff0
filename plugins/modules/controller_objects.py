#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: controller_objects
short_description: Manage a controller's templates, surveys, workflows and schedules
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Creates a job template on AWX or Automation Controller for every playbook of this collection, with a survey built
    from the roles' argument specifications. Also creates workflows, schedules and notifications.
  - Uses the modules of O(collection), which must be installed where Ansible runs. Runs on the play's controller.
  - Objects with other names are left alone.
options:
  organization:
    description: Organization of all objects. It must exist.
    type: str
    default: Default
  prefix:
    description: Prefix of every template and workflow name.
    type: str
    default: "Gaudi: "
  project:
    description: Name of the project.
    type: str
    default: gaudi3.scale
  scm_url:
    description: Git URL of the repository with this collection.
    type: str
    required: true
  scm_branch:
    description: "Branch, tag or commit. Empty: the repository's default."
    type: str
    default: ""
  scm_credential:
    description: "Name of the credential for the repository. Empty: none."
    type: str
    default: ""
  inventory:
    description: Name of the inventory. Created empty if missing.
    type: str
    default: Gaudi
  inventory_source:
    description: "Source of the inventory, as options of the module C(inventory_source). Empty: none is created."
    type: dict
    default: {}
  execution_environment:
    description: Name of the execution environment.
    type: str
    default: gaudi3.scale
  execution_environment_image:
    description: "Image of the execution environment. Empty: the controller's default environment."
    type: str
    default: ""
  credentials:
    description:
      - Names of the credentials of each template. They must exist.
      - "Empty: each launch prompts for them."
    type: list
    elements: str
    default: []
  variables:
    description: Extra variables of each template.
    type: dict
    default: {}
  forks:
    description: Number of nodes that a job works on in parallel.
    type: int
    default: 50
  canary:
    description: Host or pattern that the upgrade workflow upgrades first.
    type: str
    default: "gaudi[0]"
  approval_timeout:
    description: "Seconds after which an unanswered approval ends the workflow. V(0): never."
    type: int
    default: 0
  schedules:
    description:
      - Schedules, as a mapping from playbook name to recurrence rule, such as C(DTSTART;TZID=UTC:20260101T030000
        RRULE:FREQ=DAILY;INTERVAL=1).
    type: dict
    default: {}
  notifications:
    description:
      - Notifications, each with the options of the module C(notification_template). Every template uses all of them.
    type: list
    elements: dict
    default: []
  notify_on:
    description: Events that each template sends notifications for.
    type: list
    elements: str
    choices: [started, success, error]
    default: [error]
  survey_defaults:
    description: Site defaults for surveys, as a mapping from option to answer.
    type: dict
    default: {}
  collection:
    description: Collection whose modules create the objects.
    type: str
    choices: [awx.awx, ansible.controller]
    default: awx.awx
  host:
    description: "Address of the controller. Empty: no objects are created."
    type: str
    default: ""
  token:
    description: Token of an account that can administer the organization.
    type: str
    default: ""
  username:
    description: Account to use instead of a token.
    type: str
    default: ""
  password:
    description: Password of the account.
    type: str
    default: ""
  validate_certs:
    description: Whether the controller's certificate must be trusted here.
    type: bool
    default: true
  request_timeout:
    description: Seconds per request.
    type: float
    default: 10.0
  data_file:
    description:
      - "File to write all objects to as well, in the data format of the collection infra.aap_configuration. Empty:
        none."
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Queries the controller and reports what would be created or changed.
  diff_mode:
    support: partial
    description: Shows changes of O(data_file), unless it has notifications, which may contain secrets.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Create all templates, workflows and the weekly audit
  gaudi3.scale.controller_objects:
    host: https://awx.example.org
    token: "{{ lookup('ansible.builtin.env', 'CONTROLLER_OAUTH_TOKEN') }}"
    scm_url: https://git.example.org/gaudi3.scale.git
    credentials: [operator]
    schedules:
      audit_cluster: DTSTART;TZID=UTC:20260105T060000 RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=MO
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
steps:
  description: All objects that were checked, in order.
  type: list
  elements: dict
  returned: always
  contains:
    kind:
      description: Kind of object, such as C(job template).
      type: str
      sample: job template
    name:
      description: Name of the object.
      type: str
      sample: "Gaudi: Verify"
    state:
      description:
        - V(made), V(changed) or V(same); in check mode also V(follows), if it depends on an object that does not exist
          yet.
      type: str
      sample: same
"""
