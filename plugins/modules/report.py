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
  - Prints O(rows) as an aligned table on the controller's screen, which is also the output of an AWX job.
  - With O(name), writes the same table, with charts, as a self-contained HTML file and as JSON. The last printed line
    shows the path of the page.
  - If the target does not accept the files, the task does not fail. The files are stored in a directory on the
    controller, and a warning says why and where. M(gaudi3.scale.options_check) refuses such a target before a play
    starts.
  - Runs on the controller and contacts no node.
options:
  kind:
    description:
      - Kind of report. Uses what the playbook of this name has registered on O(hosts); V(verdict) is the end of
        C(site.yml).
      - All other options may be given as well and override those of the kind.
      - One of O(kind) and O(title) is required. Without O(kind), O(rows) and O(columns) are required too.
    type: str
    choices:
      - benchmark_fabric
      - benchmark_training
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
    description: With O(kind), the hosts of the report, in order, including those that were not reached.
    type: list
    elements: str
    default: []
  given:
    description:
      - Additional input of the kind.
      - V(node) and V(same_generation) for V(explain_node); V(pools), V(hosts), V(mtu), V(priorities) and V(generation)
        for V(plan_fabric); V(floors) and V(failure) for V(measure_collectives); V(release) for V(upgrade_driver);
        V(accepted) for V(upgrade_firmware); V(tolerance), V(together), V(built_in), V(workload), V(kept_file) and
        V(baseline) for V(compare_settings); V(job), V(left_out), V(release), V(failure), V(has_to_be_known), and in
        check mode V(would_start) and V(command), for V(training); V(study), V(fixed), V(keeper), V(report) and
        V(failure) for V(tune_training); the options of M(gaudi3.scale.options_check) for V(report_cost); for V(verdict)
        further columns and their values, alike for all hosts.
    type: dict
    default: {}
  title:
    description: Heading of the table and the page.
    type: str
  rows:
    description: Rows of the table, each a mapping from column to value.
    type: list
    elements: dict
  columns:
    description: Columns to show, in order.
    type: list
    elements: str
  notes:
    description: Notes below the table.
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
        description: Title of the chart.
        type: str
        required: true
      x_label:
        description: Label of the horizontal axis, with its unit.
        type: str
        required: true
      y_label:
        description: Label of the vertical axis, with its unit.
        type: str
        required: true
      points:
        description: Pairs of numbers, ascending by the first.
        type: list
        elements: list
        default: []
      series:
        description: Several series with a legend, instead of O(charts[].points); see O(charts[].stacked).
        type: list
        elements: dict
        default: []
        suboptions:
          label:
            description: Label of the part or line.
            type: str
            required: true
          points:
            description: Pairs of numbers. All parts of a stacked chart have the same first numbers.
            type: list
            elements: list
            required: true
      stacked:
        description: Whether O(charts[].series) are parts of a whole, stacked from zero. Otherwise each is a line.
        type: bool
        default: true
      dots:
        description: Whether to draw each point, so that a single one is visible.
        type: bool
        default: false
      from_zero:
        description: Whether both axes start at zero.
        type: bool
        default: false
      y_from_zero:
        description: Whether the vertical axis starts at zero.
        type: bool
        default: false
      marks:
        description: Lines across the chart, for example a limit.
        type: list
        elements: dict
        default: []
        suboptions:
          axis:
            description: Axis of O(charts[].marks[].value).
            type: str
            choices: [x, y]
            required: true
          value:
            description: Position of the line.
            type: float
            required: true
          label:
            description: Label of the line.
            type: str
            default: ""
          tone:
            description: Meaning of the line.
            type: str
            choices: [plain, good, bad]
            default: plain
  intervals:
    description: Charts of ratios with confidence intervals, around a vertical line at 1, on a logarithmic axis.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: Title of the chart.
        type: str
        required: true
      x_label:
        description: Label of the horizontal axis, with its unit.
        type: str
        required: true
      bars:
        description: Rows of the chart, from the top.
        type: list
        elements: dict
        required: true
        suboptions:
          label:
            description: Label of the row.
            type: str
            required: true
          estimate:
            description: Position of the dot. Without it, O(intervals[].bars[].note) is shown instead.
            type: float
          low:
            description: Lower end of the interval.
            type: float
          high:
            description: Upper end of the interval.
            type: float
          tone:
            description: Meaning of the row.
            type: str
            choices: [plain, good, bad]
            default: plain
          note:
            description: Text to show if nothing was measured.
            type: str
            default: ""
  bars:
    description: Charts of amounts and their parts, as horizontal bars.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: Title of the chart.
        type: str
        required: true
      x_label:
        description: Label of the horizontal axis, with its unit.
        type: str
        required: true
      parts:
        description: Labels of the parts of each bar, from the left.
        type: list
        elements: str
        required: true
      amounts:
        description: Bars, from the top.
        type: list
        elements: dict
        required: true
        suboptions:
          label:
            description: Label of the bar.
            type: str
            required: true
          parts:
            description: One number, 0 or more, for each of O(bars[].parts).
            type: list
            elements: float
            required: true
          text:
            description: Text at the end of the bar.
            type: str
            required: true
  heat_maps:
    description: Heat maps with one cell per pair of names; larger values are darker.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: Title of the heat map.
        type: str
        required: true
      names:
        description: Names, in order.
        type: list
        elements: str
        required: true
      cells:
        description: Cells, each for a pair of names. A pair without a cell stays empty.
        type: list
        elements: dict
        required: true
        suboptions:
          row:
            description: Index of the row in O(heat_maps[].names), from 0.
            type: int
            required: true
          column:
            description: Index of the column, likewise.
            type: int
            required: true
          value:
            description: Value of the cell. Without one the cell is empty.
            type: float
          bad:
            description: Whether the cell is crossed out.
            type: bool
            default: false
          note:
            description: Text to show on hover.
            type: str
            default: ""
  sections:
    description: More tables, each with a heading, on the page and in the JSON, and by default on the screen.
    type: list
    elements: dict
    default: []
    suboptions:
      title:
        description: Heading of the table.
        type: str
        required: true
      rows:
        description: Rows of the table.
        type: list
        elements: dict
        required: true
      columns:
        description: Columns to show, in order.
        type: list
        elements: str
        required: true
      notes:
        description: Notes below the table.
        type: list
        elements: str
        default: []
      on_screen:
        description: Whether to print it on the screen too, and not only on the page and in the JSON.
        type: bool
        default: true
  data:
    description: More data for the JSON, for programs to read.
    type: raw
  name:
    description:
      - File name of the page and the JSON in O(target), without suffix. V(.html) and V(.json) are added.
      - If omitted, or in check mode, nothing is written.
    type: str
  pdf:
    description: Whether to write the page as PDF too, with WeasyPrint on the controller.
    type: bool
    default: false
  target:
    description:
      - Target of the files, a directory on the controller, or V(s3://bucket/prefix).
      - A relative directory starts at the directory in which C(ansible-playbook) was started; V(~) is the home of the
        user who started it.
      - "Empty: V(gaudi3_scale_reports)."
      - A bucket needs boto3 in the Python that runs Ansible. boto3 finds credentials, region and, in the variable
        E(AWS_ENDPOINT_URL_S3), the endpoint of storage other than Amazon's.
      - By default the variable C(gaudi_report_target) of the host, else that of the first host of C(gaudi_hosts).
    type: str
  figures:
    description:
      - HTML page with figures made by a node. It is shown in a frame whose scripts can reach neither the page nor the
        network.
    type: str
    default: ""
  files:
    description: More files to store with the page, such as variables for the next playbook.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the file in O(target).
        type: str
        required: true
      content:
        description: Content of the file; anything other than a string is written as JSON.
        type: raw
        default: ""
      heading:
        description: Comment lines before O(files[].variables).
        type: str
        default: ""
      variables:
        description:
          - Variables of this collection to write instead of O(files[].content), for C(-e @FILE).
          - Nodes may have chosen some of them. Other names are omitted, and strings that look like templates are marked
            as unsafe.
        type: dict
      label:
        description: Label printed before the path of the file.
        type: str
        required: true
      mode:
        description: Permissions of a file in a directory.
        type: str
        default: "0644"
      backup:
        description: Whether to keep a backup of a changed file, beside the new one.
        type: bool
        default: false
      path:
        description: Path to write the file to instead, on the controller or V(s3://bucket/prefix/name).
        type: str
        default: ""
      option:
        description: Variable that O(files[].path) comes from, for messages.
        type: str
        default: path
  outcome:
    description:
      - Data for the next job of a workflow, set as by M(ansible.builtin.set_stats).
      - AWX turns it into variables, and Ansible treats strings in variables as templates. So nothing with a brace is
        passed on, and from nodes only numbers and names of states.
    type: dict
    suboptions:
      variable:
        description: Name of the variable.
        type: str
        required: true
      nodes:
        description: State of each node, by inventory name. Others are omitted.
        type: dict
        default: {}
      good:
        description: States of a healthy node.
        type: list
        elements: str
        default: [ok]
      ok:
        description: Whether the outcome is good, if not simply that there are nodes and all are healthy.
        type: bool
      unclear:
        description: Whether the result was inconclusive. The verdict is then V(unclear), whatever O(outcome.ok) is.
        type: bool
        default: false
      numbers:
        description: Names and numbers. Values that are not numbers become null.
        type: dict
        default: {}
      words:
        description: Names and strings, or lists of strings, that come from the operator and not from a node.
        type: dict
        default: {}
attributes:
  check_mode:
    support: full
    description: Prints and returns the report, and writes nothing.
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
  description: The printed tables with their headings and notes.
  type: str
  returned: always
files:
  description: Paths or URLs of the written files, first the page, then the JSON, then O(files).
  type: list
  elements: str
  returned: always
report:
  description: "Path or URL of the page. Empty: none."
  type: str
  returned: always
  sample: s3://reports/gaudi/drivers.html
report_error:
  description: "Error message if the files are not in the requested target. Empty: no error."
  type: str
  returned: always
way:
  description: The last printed line, to append to a play's error message. Empty without O(name).
  type: str
  returned: always
  sample: "Report: s3://reports/gaudi/drivers.html"
refusal:
  description:
    - "With O(kind), an error message for the play to fail with, for example if no host responded. Empty: none."
  type: str
  returned: always
reasons:
  description: With O(kind) V(upgrade_driver) and V(upgrade_firmware), one error message per host with a problem.
  type: dict
  returned: always
outcome:
  description:
    - Value of O(outcome.variable) for the next job.
    - V(verdict) is V(ok) or V(failed); V(nodes) has the states, V(ok_nodes) and V(failed_nodes) the names;
      O(outcome.numbers) and O(outcome.words) follow, then V(report), V(report_error) and V(check_mode).
  type: dict
  returned: with O(outcome)
"""
