# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.variables import (
    container_variables,
    image_variables,
)

IMAGE = image_variables(
    [
        "PATH=/opt/venv/bin:/usr/bin",
        "GC_KERNEL_PATH=/usr/lib/habanalabs/libtpc_kernels.so",
        "PT_HPU_LAZY_MODE=1",
        "HABANA_LOGS=/var/log/habana_logs/",
        "PYTHONPATH=/usr/lib/habanalabs:/root",
        "EMPTY=",
        "=no name",
        "no value",
    ]
)
HOME = "/var/lib/gaudi3_scale/jobs/llama"


def test_the_images_variables():
    assert list(IMAGE) == ["PATH", "GC_KERNEL_PATH", "PT_HPU_LAZY_MODE", "HABANA_LOGS", "PYTHONPATH", "EMPTY"]
    assert IMAGE["EMPTY"] == ""


def test_paths_are_the_images_and_all_else_is_as_on_the_node():
    given = {
        "PATH": "/usr/sbin",
        "HOME": "/home/gaudi",
        "USER": "gaudi",
        "NOTIFY_SOCKET": "/run/systemd/notify",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "GC_KERNEL_PATH": "/usr/lib/habanalabs/of_the_node.so",
        "PT_HPU_LAZY_MODE": "0",
        "HABANA_VISIBLE_MODULES": "0,1",
        "GAUDI3_SCALE_JOB": "llama",
        "TOKEN": "a 'b'\n\"c\" $d",
    }
    found = container_variables(IMAGE, given, (), HOME)
    assert found == {
        **IMAGE,
        "PT_HPU_LAZY_MODE": "0",
        "HABANA_VISIBLE_MODULES": "0,1",
        "GAUDI3_SCALE_JOB": "llama",
        "TOKEN": "a 'b'\n\"c\" $d",
        "HABANA_LOGS": f"{HOME}/habana_logs/",
        "HOME": HOME,
    }


def test_what_the_operator_set_for_this_job_wins_over_the_image():
    given = {"GC_KERNEL_PATH": "/srv/mine.so", "HABANA_LOGS": "/data/logs", "PYTHONPATH": "/srv/project"}
    found = container_variables(IMAGE, given, tuple(given), HOME, "/run/library")
    assert (found["GC_KERNEL_PATH"], found["HABANA_LOGS"]) == ("/srv/mine.so", "/data/logs")
    assert found["PYTHONPATH"] == "/srv/project:/run/library"


def test_the_node_library_comes_last_on_the_path():
    assert container_variables({}, {}, (), HOME, "/run/library")["PYTHONPATH"] == "/run/library"
    assert container_variables(IMAGE, {}, (), HOME, "/run/library")["PYTHONPATH"].endswith(":/root:/run/library")
    assert "PYTHONPATH" not in container_variables({}, {}, (), HOME)
