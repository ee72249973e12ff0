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
  - Makes a job template for every playbook of this collection on AWX or Automation Controller, whose survey is made of
    the argument specifications of the roles, and workflows, schedules and notifications.
  - Uses the modules of O(collection), which has to be installed where Ansible runs. Runs on the controller of the play.
  - What is on the controller and has none of these names is left alone.
options:
  organization:
    description: Organization of all objects, which has to be there.
    type: str
    default: Default
  prefix:
    description: What each template and workflow has before its title.
    type: str
    default: "Gaudi: "
  project:
    description: Name of the project.
    type: str
    default: gaudi3.scale
  scm_url:
    description: Address of the repository with this collection, by git.
    type: str
    required: true
  scm_branch:
    description: Branch, tag or commit of it; its own default when empty.
    type: str
    default: ""
  scm_credential:
    description: Name of the credential for it; none when empty.
    type: str
    default: ""
  inventory:
    description: Name of the inventory. An empty one is made where there is none.
    type: str
    default: Gaudi
  inventory_source:
    description:
      - What fills the inventory, with the options of the module C(inventory_source); nothing is made when empty.
    type: dict
    default: {}
  execution_environment:
    description: Name of the execution environment.
    type: str
    default: gaudi3.scale
  execution_environment_image:
    description: Its image. The controller's default environment is used when empty.
    type: str
    default: ""
  credentials:
    description:
      - Names of credentials that each template gets, which have to be there.
      - Each launch asks for them when empty.
    type: list
    elements: str
    default: []
  variables:
    description: Extra variables of each template.
    type: dict
    default: {}
  forks:
    description: Nodes that a job works on at the same time.
    type: int
    default: 50
  canary:
    description: Host or pattern that the workflow of an upgrade upgrades first.
    type: str
    default: "gaudi[0]"
  approval_timeout:
    description: Seconds after which an approval that nobody gave ends the workflow; V(0) for never.
    type: int
    default: 0
  schedules:
    description:
      - From the name of a playbook to the rule by which it runs, as C(DTSTART;TZID=UTC:20260101T030000
        RRULE:FREQ=DAILY;INTERVAL=1).
    type: dict
    default: {}
  notifications:
    description:
      - Notifications, each with the options of the module C(notification_template), and all of them of each template.
    type: list
    elements: dict
    default: []
  notify_on:
    description: What each template sends notifications about.
    type: list
    elements: str
    choices: [started, success, error]
    default: [error]
  survey_defaults:
    description: From an option to the site's own answer in each survey that asks for it.
    type: dict
    default: {}
  collection:
    description: Whose modules make the objects.
    type: str
    choices: [awx.awx, ansible.controller]
    default: awx.awx
  host:
    description: Address of the controller. Nothing is made on one when empty.
    type: str
    default: ""
  token:
    description: Token of an account that may administer the organization.
    type: str
    default: ""
  username:
    description: Account in place of a token.
    type: str
    default: ""
  password:
    description: The account's password.
    type: str
    default: ""
  validate_certs:
    description: Whether its certificate has to be one that is trusted here.
    type: bool
    default: true
  request_timeout:
    description: Seconds for a request.
    type: float
    default: 10.0
  data_file:
    description:
      - A file to write all objects into as well, in the data shape of the collection infra.aap_configuration; none when
        empty.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Asks the controller and reports what would be made or changed.
  diff_mode:
    support: partial
    description: Shows what differs in O(data_file), unless there are notifications in it, which may have secrets.
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
  description: Every object that was looked at, in order.
  type: list
  elements: dict
  returned: always
  contains:
    kind:
      description: What it is, as in C(job template).
      type: str
      sample: job template
    name:
      description: Its name.
      type: str
      sample: "Gaudi: Verify"
    state:
      description: V(made), V(changed) or V(same); in check mode V(follows) where it needs what is not there yet.
      type: str
      sample: same
"""
