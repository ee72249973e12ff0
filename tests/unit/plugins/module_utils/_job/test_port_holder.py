# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.port_holder import holder_of


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_kernel_says_which_process_holds_a_port(kind, family):
    with socket.socket(family, kind) as server:
        server.bind(("", 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        port = server.getsockname()[1]
        datagrams = kind == socket.SOCK_DGRAM
        assert f"(process {os.getpid()}" in holder_of(port, datagrams=datagrams)
    assert holder_of(port, datagrams=datagrams) == ""


def test_a_process_of_another_job_is_that_job(tmp_path):
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    # A connection to the port is nobody who holds it.
    established = "   0: 0100007F:733C 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000 0 76 1 0\n"
    listens = "   1: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 77 1 0\n"
    (tmp_path / "net/tcp").write_text(head + established + listens)
    for number, inode in ((41, 76), (42, 77)):
        (tmp_path / f"{number}/fd").mkdir(parents=True)
        (tmp_path / f"{number}/fd/3").symlink_to(f"socket:[{inode}]")
        (tmp_path / f"{number}/comm").write_text("python3\n")
    (tmp_path / "42/cgroup").write_text("0::/system.slice/gaudi3-scale-job-books.service\n")
    assert holder_of(29500, proc=str(tmp_path)) == "job books (gaudi3-scale-job-books.service)"
    (tmp_path / "42/cgroup").write_text("12:pids:/system.slice/web.service/app\n0::/system.slice/web.service/app\n")
    assert holder_of(29500, proc=str(tmp_path)) == "python3 (process 42, web.service)"
    (tmp_path / "42/cgroup").unlink()
    assert holder_of(29500, proc=str(tmp_path)) == "python3 (process 42)"
    assert holder_of(29501, proc=str(tmp_path)) == ""
