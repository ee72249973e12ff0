#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Print a table at the end of a play, and keep it as a page
version_added: "0.1.0"
description:
  - Prints O(rows) as an aligned table on the controller's screen, which is also an AWX job's output.
  - Where O(path) is given, writes the same table, with charts, as one HTML file that needs nothing beside it,
    and as JSON.
  - Runs on the controller; nothing is sent to the node.
options:
  title:
    description: The heading of the table and of the page.
    type: str
    required: true
  rows:
    description: The lines of the table, each a dictionary from a column to its value.
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
            description: Where the dot is. Without one O(intervals[].bars[].note) stands in its place.
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
  path:
    description:
      - Where to write the page and the JSON on the controller, without a suffix. V(.html) and V(.json) are added.
      - Nothing is written when this is omitted, or in check mode.
    type: path
attributes:
  check_mode:
    support: full
    description: Prints, and writes nothing.
  diff_mode:
    support: none
    description: A report changes nothing on a node.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Show the driver of each node
  gaudi3.scale.report:
    title: Drivers
    columns: [node, driver]
    rows:
      - node: gaudi-01
        driver: 1.24.1
    path: reports/drivers
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
text:
  description: The tables with their headings and notes, as printed.
  type: str
  returned: always
files:
  description: The files that were written on the controller.
  type: list
  elements: str
  returned: always
"""
