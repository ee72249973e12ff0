#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Print a table at the end of a play, and save it as a page
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Prints O(rows) as an aligned table on the controller's screen, which is also an AWX job's output.
  - Where O(name) is given, writes the same table, with charts, as one HTML file that needs nothing beside it, and as
    JSON. The last line that is printed is the way to it.
  - A place that does not take the files fails nothing. They are then kept in a directory of the controller, and a
    warning says why and where. M(gaudi3.scale.options_check) refuses such a place before a play begins.
  - Runs on the controller; nothing is sent to the node.
options:
  kind:
    description:
      - What to make the report of - what the playbook of this name has registered on O(hosts); V(verdict) is the end
        of C(site.yml).
      - Every other option may be given as well, and is then taken instead of what the kind makes of it.
      - One of O(kind) and O(title) is required; without O(kind) O(rows) and O(columns) are, too.
    type: str
    choices:
      - benchmark_fabric
      - cap_power
      - compare_settings
      - explain_flags
      - explain_node
      - measure_collectives
      - plan_fabric
      - plan_upgrade
      - probe_batch_size
      - report_cost
      - show_fleet
      - training
      - tune_training
      - upgrade_driver
      - upgrade_firmware
      - verdict
  hosts:
    description: With O(kind) the hosts of the report, in order; also those that were not reached.
    type: list
    elements: str
    default: []
  given:
    description:
      - What the kind needs to know beside that.
      - V(node) and V(same_generation) for V(explain_node); V(pools), V(hosts), V(mtu),
        V(priorities) and V(generation) for V(plan_fabric); V(floors) and V(failure) for
        V(measure_collectives); V(release) for V(upgrade_driver); V(accepted) for
        V(upgrade_firmware); V(tolerance), V(together), V(built_in), V(workload), V(kept_file) and V(baseline) for
        V(compare_settings); V(job), V(left_out), V(release), V(failure), V(has_to_be_known), and
        in check mode V(would_start) and V(command), for V(training);
        V(study), V(fixed), V(keeper), V(report) and V(failure) for V(tune_training); the options of
        M(gaudi3.scale.options_check) for V(report_cost); for V(verdict) further columns and their values, alike for
        all hosts.
    type: dict
    default: {}
  title:
    description: The heading of the table and of the page.
    type: str
  rows:
    description: The lines of the table, each a dictionary from a column to its value.
    type: list
    elements: dict
  columns:
    description: The columns to show, in order.
    type: list
    elements: str
  notes:
    description: Sentences below the table.
    type: list
    elements: str
    default: []
  charts:
    description: Line charts for the page.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: What the chart shows.
        type: str
        required: true
      x_label:
        description: The horizontal axis, with its unit.
        type: str
        required: true
      y_label:
        description: The vertical axis, with its unit.
        type: str
        required: true
      points:
        description: Pairs of numbers, the first ascending.
        type: list
        elements: list
        default: []
      series:
        description: Instead of O(charts[].points) several of them, with a legend; see O(charts[].stacked).
        type: list
        elements: dict
        default: []
        suboptions:
          label:
            description: What the part, or the line, is.
            type: str
            required: true
          points:
            description: Pairs of numbers. All parts of a whole have the same first ones.
            type: list
            elements: list
            required: true
      stacked:
        description: Whether O(charts[].series) are parts of a whole, on one another from zero. Else each is a line.
        type: bool
        default: true
      dots:
        description: Whether each point is shown, so that a single one is enough.
        type: bool
        default: false
      from_zero:
        description: Whether both axes begin at zero.
        type: bool
        default: false
      y_from_zero:
        description: Whether the upright axis begins at zero.
        type: bool
        default: false
      marks:
        description: Lines across the chart, such as a limit.
        type: list
        elements: dict
        default: []
        suboptions:
          axis:
            description: The axis on which O(charts[].marks[].value) is.
            type: str
            choices: [x, y]
            required: true
          value:
            description: Where the line is.
            type: float
            required: true
          label:
            description: What is written at the line.
            type: str
            default: ""
          tone:
            description: What the line stands for.
            type: str
            choices: [plain, good, bad]
            default: plain
  intervals:
    description: Charts of ratios with their intervals, around an upright line at 1, on a logarithmic axis.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: What the chart shows.
        type: str
        required: true
      x_label:
        description: The horizontal axis, with its unit.
        type: str
        required: true
      bars:
        description: The lines of the chart, from the first down.
        type: list
        elements: dict
        required: true
        suboptions:
          label:
            description: What it is of.
            type: str
            required: true
          estimate:
            description: Where the dot is. Without one O(intervals[].bars[].note) is in its place.
            type: float
          low:
            description: The lower end of the interval.
            type: float
          high:
            description: The upper end of the interval.
            type: float
          tone:
            description: What it stands for.
            type: str
            choices: [plain, good, bad]
            default: plain
          note:
            description: What is written where nothing was measured.
            type: str
            default: ""
  bars:
    description: Charts of amounts with their parts, as lying bars.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: What the chart shows.
        type: str
        required: true
      x_label:
        description: The horizontal axis, with its unit.
        type: str
        required: true
      parts:
        description: What the parts of each bar are, from the left.
        type: list
        elements: str
        required: true
      amounts:
        description: The bars, from the first down.
        type: list
        elements: dict
        required: true
        suboptions:
          label:
            description: What it is of.
            type: str
            required: true
          parts:
            description: As many numbers as O(bars[].parts), each 0 or more.
            type: list
            elements: float
            required: true
          text:
            description: What stands at its end.
            type: str
            required: true
  heat_maps:
    description: Squares with a cell for every two of several things, the darker the larger its value.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: What the square shows.
        type: str
        required: true
      names:
        description: The things, in their order.
        type: list
        elements: str
        required: true
      cells:
        description: The cells, each of two things; a pair that is left out has none.
        type: list
        elements: dict
        required: true
        suboptions:
          row:
            description: The place of the one thing in O(heat_maps[].names), from 0.
            type: int
            required: true
          column:
            description: The place of the other.
            type: int
            required: true
          value:
            description: The value. Without one the cell is empty.
            type: float
          bad:
            description: Whether it is crossed out.
            type: bool
            default: false
          note:
            description: What is shown where one points at it.
            type: str
            default: ""
  sections:
    description: Further tables, each under its own heading, on the page and in the JSON, and usually on the screen.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: The heading.
        type: str
        required: true
      rows:
        description: The lines of the table.
        type: list
        elements: dict
        required: true
      columns:
        description: The columns to show, in order.
        type: list
        elements: str
        required: true
      notes:
        description: Sentences below the table.
        type: list
        elements: str
        default: []
      on_screen:
        description: Whether it is on the screen too, and not on the page and in the JSON alone.
        type: bool
        default: true
  data:
    description: Anything that the JSON shall have besides, for programs to read.
    type: raw
  name:
    description:
      - Name of the page and the JSON in O(target), without a suffix. V(.html) and V(.json) are added.
      - Nothing is written when this is omitted, or in check mode.
    type: str
  pdf:
    description: Whether the page is also written as PDF, by WeasyPrint on the controller.
    type: bool
    default: false
  target:
    description:
      - Where to write - a directory on the controller, or V(s3://bucket/prefix).
      - A relative directory is one below that in which C(ansible-playbook) was started; V(~) is the home of who did.
      - Nothing stands for V(gaudi3_scale_reports).
      - A bucket needs boto3 in the Python that runs Ansible, which finds credentials, region and, in the variable
        E(AWS_ENDPOINT_URL_S3), a storage that is not Amazon's.
      - By default the variable C(gaudi_report_target) of the host, else that of the first host of C(gaudi_hosts).
    type: str
  figures:
    description:
      - A page of HTML with figures that a node has made. It is shown in a frame, from which its scripts reach neither
        the page nor the network.
    type: str
    default: ""
  files:
    description: Further files to keep with the page, such as variables for the next playbook.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the file in O(target).
        type: str
        required: true
      content:
        description: What is in it; what is no string is written as JSON.
        type: raw
        default: ""
      heading:
        description: Lines of comment before O(files[].variables).
        type: str
        default: ""
      variables:
        description:
          - What is in it instead of O(files[].content) - variables of this collection, as C(-e @FILE) takes them.
          - A node may have chosen some of them. Other names are left out, and a string that would be a template is
            marked as none.
        type: dict
      label:
        description: What is printed before the way to it.
        type: str
        required: true
      mode:
        description: Permissions of the file in a directory.
        type: str
        default: "0644"
      backup:
        description: Whether a file in a directory that is different is kept beside the new one.
        type: bool
        default: false
      path:
        description: Where the operator wants it instead - a path on the controller, or V(s3://bucket/prefix/name).
        type: str
        default: ""
      option:
        description: The variable that O(files[].path) is from, for messages.
        type: str
        default: path
  outcome:
    description:
      - What the play tells the next job of a workflow, as M(ansible.builtin.set_stats) would.
      - AWX makes variables of it, and a string of a variable is a template to Ansible, so nothing with a brace comes
        through, and of what nodes say only numbers and names of states.
    type: dict
    suboptions:
      variable:
        description: The name of the variable.
        type: str
        required: true
      nodes:
        description: The state of each node, by its name in the inventory. Others are left out.
        type: dict
        default: {}
      good:
        description: The states of a node that is well.
        type: list
        elements: str
        default: [ok]
      ok:
        description: Whether all is well, where that is not simply whether there are nodes and all of them are.
        type: bool
      unclear:
        description: Whether the play could not find out. The verdict is then V(unclear), whatever O(outcome.ok) says.
        type: bool
        default: false
      numbers:
        description: Names and numbers. What is not a number becomes null.
        type: dict
        default: {}
      words:
        description: Names and strings, or lists of strings, that come from the operator and not from a node.
        type: dict
        default: {}
attributes:
  check_mode:
    support: full
    description: Prints and returns the outcome, and writes nothing.
  diff_mode:
    support: none
    description: A report changes nothing on a node.
seealso:
  - module: gaudi3.scale.options_check
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Show the state of all nodes
  gaudi3.scale.report:
    kind: verdict
    hosts: "{{ groups.gaudi }}"
  run_once: true
  delegate_to: localhost

- name: Show the driver of each node
  gaudi3.scale.report:
    title: Drivers
    columns: [node, driver]
    rows:
      - node: gaudi-01
        driver: 1.24.1
    name: drivers
    target: s3://reports/gaudi
    outcome:
      variable: my_drivers
      nodes:
        gaudi-01: ok
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
text:
  description: The tables with their headings and notes, as printed.
  type: str
  returned: always
files:
  description: Paths or URLs of what was written, the page first, then the JSON, then O(files).
  type: list
  elements: str
  returned: always
report:
  description: Path or URL of the page; empty where none was kept.
  type: str
  returned: always
  sample: s3://reports/gaudi/drivers.html
report_error:
  description: A sentence where the files are not where they were to be; else empty.
  type: str
  returned: always
way:
  description: The last line that was printed, for the end of a sentence that fails a play; empty without O(name).
  type: str
  returned: always
  sample: "Report: s3://reports/gaudi/drivers.html"
refusal:
  description: With O(kind) a sentence for the play to fail with, such as where no host has answered; else empty.
  type: str
  returned: always
reasons:
  description:
    - With O(kind) V(upgrade_driver) and V(upgrade_firmware) a sentence for each host with which something is wrong.
  type: dict
  returned: always
outcome:
  description:
    - What the next job has in O(outcome.variable).
    - V(verdict) is V(ok) or V(failed); V(nodes) has the states, V(ok_nodes) and V(failed_nodes) the names;
      O(outcome.numbers) and O(outcome.words) follow, then V(report), V(report_error) and V(check_mode).
  type: dict
  returned: where O(outcome) is given
"""
