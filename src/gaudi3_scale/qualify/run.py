# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All tests of the plan that have no result yet, one after the other; each result is on the disk before the next."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from typing import Any, Mapping

from gaudi3_scale.core._cards.accel_sysfs import timeout_locked
from gaudi3_scale.core._cards.hlml_interface import MOST_REPLACED_ROWS
from gaudi3_scale.core._cards.hpu_facts import gather
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._node.kernel_modules import find_holders
from gaudi3_scale.core._qualify.counters import grown, throttled
from gaudi3_scale.core._qualify.environment import DOCUMENTED, read_environment
from gaudi3_scale.core._qualify.files import Files
from gaudi3_scale.core._qualify.kernel_log import errors_since
from gaudi3_scale.core._qualify.matrix import GAUDI2
from gaudi3_scale.core._qualify.plan import HOST, RATHER_UNLOCKED, UNLOCKED
from gaudi3_scale.core._qualify.results import FAILED, ISOLATE, PASSED, UNKNOWN, Result, node_state, reasons_of
from gaudi3_scale.qualify import driver, hl_qual
from gaudi3_scale.qualify.host import check_host


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
    name, environment = str(test["test"]), read_environment(os.environ)
    try:
        if name == HOST:
            rows = int(plan.get("replaced_rows_limit", MOST_REPLACED_ROWS))
            return check_host(str(plan["release"]), int(plan["cards"]), run, kernel_root, rows)
        unmet = _prepare(test, plan, files, run, kernel_root, environment)
    except GaudiError as error:
        return Result(name, hl_qual.STAGE, UNKNOWN, (str(error),))
    begun, before = time.time(), gather(run, kernel_root, hlml=True)
    seconds, generation = float(test["seconds"]), str(plan["generation"])
    result = hl_qual.run_test(name, generation, test["words"], seconds, str(test["action"]), qual_root, environment)
    after = gather(run, kernel_root, hlml=True)
    logged = [f"the kernel said meanwhile: {line}." for line in errors_since(begun, run, kernel_root)]
    worse = [*logged, *grown(before, after)]
    result = replace(result, remarks=(*result.remarks, *throttled(before, after)))
    if unmet and result.state == FAILED:
        # Without what it needs, a failing test also makes the driver reset cards and say so.
        return result.with_reasons(worse).unless_met(unmet)
    noticed = result.with_reasons(worse)
    return replace(noticed, action=noticed.action or ISOLATE) if worse else noticed


def _prepare(
    test: Mapping[str, Any],
    plan: Mapping[str, Any],
    files: Files,
    run: Run,
    kernel_root: str,
    environment: Mapping[str, str],
) -> list[str]:
    """Have the driver as the test wants it; returns what is not as some source wants it, as sentences.

    Raises GaudiError for what the test cannot do without.
    """
    holders = [one for one in find_holders(kernel_root) if one.computes]
    if holders:
        raise GaudiError(f"the cards are held by {holders[0]}; the test needs them alone.")
    lacking = [name for name in test.get("environment", ()) if name not in environment]
    if lacking:
        raise GaudiError(
            f"it needs {lacking[0]}, which no profile of the vendor's and no flag of this node gives a value that is "
            f"there; install {DOCUMENTED[lacking[0]]}, or set {lacking[0]} in the node's flags."
        )
    # A plan of an older version does not say it.
    rather = RATHER_UNLOCKED if plan["generation"] == GAUDI2 else ""
    wanted, release = test.get("driver", rather), str(plan["release"])
    if not wanted or not plan.get("reload_driver"):
        driver.put_back(release, run, files.reloaded, kernel_root)
    else:
        driver.load_unlocked(release, run, files.reloaded, kernel_root)
        return []
    locked = timeout_locked(kernel_root)
    if not wanted or locked == 0:
        return []
    loaded = "does not report its own" if locked is None else f"has {locked}"
    why = f"it needs a driver that is loaded with timeout_locked=0, and this one {loaded}; see docs/qualify.md."
    if wanted == UNLOCKED:
        raise GaudiError(why)
    return [f"this may not be a fault of a card: {why}"]


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
