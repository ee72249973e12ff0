# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All tests of the plan that have no result yet, one after the other; each result is on the disk before the next."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any, Mapping

from gaudi3_scale.core._cards.hpu_facts import HpuFacts, gather
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._host.kernel.modules import find_holders
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._qualification.counters import grown
from gaudi3_scale.core._qualification.files import Files
from gaudi3_scale.core._qualification.kernel_log import errors_since
from gaudi3_scale.core._qualification.matrix import MATRIX
from gaudi3_scale.core._qualification.plan import HOST
from gaudi3_scale.core._qualification.results import ISOLATE, PASSED, UNKNOWN, Result, node_state, reasons_of
from gaudi3_scale.qualification import driver, hl_qual
from gaudi3_scale.qualification.host import check_host

_UNLOCKED = {test.name: test.needs_unlocked for test in MATRIX}


def run_plan(files: Files, run: Run, kernel_root: str, qual_root: str = hl_qual.ROOT) -> str:
    """Run what is left of the plan and write the verdict; returns the node's state."""
    plan = files.read(files.plan)
    if not plan.get("tests"):
        raise GaudiError(f"{files.plan} has no tests; begin with qualify_nodes.yml.")
    release = str(plan["release"])
    driver.put_back(release, run, files.reloaded, kernel_root)
    known = {str(result["test"]) for result in files.read_results()}
    try:
        for test in plan["tests"]:
            if test["test"] not in known:
                files.write(files.current, {"test": test["test"], "since": time.time()})
                files.append_result(asdict(_watched(test, plan, files, run, kernel_root, qual_root)))
    finally:
        driver.put_back(release, run, files.reloaded, kernel_root)
        files.forget(files.current)
    return _conclude(plan, files)


def _watched(
    test: Mapping[str, Any], plan: Mapping[str, Any], files: Files, run: Run, kernel_root: str, qual_root: str
) -> Result:
    """The test, and what the kernel and the cards say of the time in which it ran."""
    begun, before = time.time(), gather(run, kernel_root)
    try:
        result = _one(test, plan, files, run, kernel_root, qual_root)
    except GaudiError as error:
        result = Result(str(test["test"]), hl_qual.STAGE, UNKNOWN, (str(error),))
    worse = _worse(begun, before, run, kernel_root) if result.test != HOST else []
    noticed = result.with_reasons(worse)
    return replace(noticed, action=noticed.action or ISOLATE) if worse else noticed


def _one(
    test: Mapping[str, Any], plan: Mapping[str, Any], files: Files, run: Run, kernel_root: str, qual_root: str
) -> Result:
    name, release, generation = str(test["test"]), str(plan["release"]), str(plan["generation"])
    if name == HOST:
        return check_host(release, int(plan["cards"]), run, kernel_root)
    holders = find_holders(kernel_root)
    if holders:
        why = f"the cards are held by {holders[0]}; the test needs them alone."
        return Result(name, hl_qual.STAGE, UNKNOWN, (why,))
    if generation in _UNLOCKED.get(name, ()):
        driver.load_unlocked(release, run, files.reloaded, kernel_root)
    else:
        driver.put_back(release, run, files.reloaded, kernel_root)
    return hl_qual.run_test(name, generation, test["words"], float(test["seconds"]), str(test["action"]), qual_root)


def _worse(begun: float, before: HpuFacts, run: Run, kernel_root: str) -> list[str]:
    logged = [f"the kernel said meanwhile: {line}." for line in errors_since(begun, run)]
    return [*logged, *grown(before, gather(run, kernel_root))]


def _conclude(plan: Mapping[str, Any], files: Files) -> str:
    results = files.read_results()
    state = node_state(results, [str(test["test"]) for test in plan["tests"]])
    files.write(
        files.verdict,
        {
            "key": plan["key"],
            "level": plan["level"],
            "release": plan["release"],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "state": state,
            "reasons": reasons_of(results),
            "figures": {"tests": len(results), "passed": sum(result["state"] == PASSED for result in results)},
        },
    )
    return state
