# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command that reads a profile: ``gaudi3_scale profile``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._profile.directory import profile_directory, read_records, read_traces
from gaudi3_scale.core._profile.lines import trace_data, trace_lines, verdict_data, verdict_lines
from gaudi3_scale.core._profile.trace_summary import summarize
from gaudi3_scale.core._profile.verdict import judge


def add_profile_command(parser: argparse.ArgumentParser) -> None:
    """Sets ``run`` to the function that takes the options and returns the exit status."""
    parser.add_argument(
        "directory", type=Path, nargs="?", metavar="DIR", help="a job's directory, or its folder profile: the verdict"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="instead: what was at work in a Chrome trace")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run_profile)


def run_profile(options: argparse.Namespace) -> int:
    """Raises GaudiError where there is nothing to read."""
    if (options.directory is None) == (options.trace is None):
        raise GaudiError("Give either a directory with profiles, or --trace with a trace's file.")
    if options.trace is not None:
        summary = summarize(str(options.trace))
        _say(json.dumps(trace_data(summary)) if options.json else "\n".join(trace_lines(summary)))
        return 0
    directory = profile_directory(str(options.directory))
    records = read_records(directory)
    traces, wrong = read_traces(directory, records)
    for sentence in wrong:
        sys.stderr.write(f"gaudi3_scale: {sentence}\n")
    verdict = judge(records, traces)
    _say(json.dumps(verdict_data(verdict)) if options.json else "\n".join(verdict_lines(verdict)))
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
