# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from benchmarks.playbook_events import count_plays, task_seconds


def event(kind, second, **data):
    return {
        "event": kind,
        "created": f"2026-11-21T09:00:{second:02d}.000000+00:00",
        "event_data": {"play_uuid": "p1", "play": "Driver", **data},
    }


def result(second, host, task, action, changed=False, kind="runner_on_ok"):
    return event(kind, second, host=host, task_uuid=task, task_action=action, res={"changed": changed})


def test_module_runs_are_counted_on_the_busiest_host_and_controller_work_is_not():
    [play] = count_plays(
        [
            event("playbook_on_play_start", 0),
            event("playbook_on_task_start", 1),
            result(2, "n1", "t1", "ansible.builtin.apt", changed=True),
            result(3, "n2", "t1", "ansible.builtin.apt"),
            event("playbook_on_task_start", 4),
            result(5, "n1", "t2", "gaudi3.scale.hpu_driver"),
            result(6, "n1", "t3", "ansible.builtin.include_vars"),
        ]
    )
    assert (play.name, play.tasks, play.remote_per_host, play.changed, play.seconds) == ("Driver", 2, 2, 1, 6.0)


def test_a_task_lasts_until_the_next_one_or_the_end():
    events = [
        event("playbook_on_task_start", 1, task="Look"),
        result(3, "n1", "t1", "stat"),
        event("playbook_on_task_start", 4, task="Start"),
        {"event": "playbook_on_stats", "created": "2026-11-21T09:00:09.500000+00:00", "event_data": {}},
    ]
    assert task_seconds(events) == [("Look", 3.0), ("Start", 5.5)]


def test_each_item_of_a_loop_is_a_module_run_and_its_summary_is_not():
    [play] = count_plays(
        [
            result(1, "n1", "t1", "copy", kind="runner_item_on_ok"),
            result(2, "n1", "t1", "copy", kind="runner_item_on_ok"),
            result(3, "n1", "t1", "copy", changed=True),
        ]
    )
    assert (play.remote_per_host, play.changed) == (2, 1)


def test_a_skipped_task_never_reached_the_node():
    [play] = count_plays([event("playbook_on_task_start", 1), result(2, "n1", "t1", "copy", kind="runner_on_skipped")])
    assert (play.tasks, play.remote_per_host) == (1, 0)


def test_events_outside_any_play_are_passed_over():
    assert count_plays([{"event": "verbose", "created": "2026-11-21T09:00:00+00:00"}]) == []
