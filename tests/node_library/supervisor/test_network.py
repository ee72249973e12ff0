# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where a supervisor listens, how much it takes at once, and who refuses it: with sockets of this machine."""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.supervisor import network as of_supervisor
from gaudi3_scale.supervisor.network import Network
from gaudi3_scale.supervisor.refusals import ask_for_refusals, refused_targets

ADDRESSES = {"n0": "127.0.0.1", "n1": "127.0.0.2", "n2": "127.0.0.3"}
SOON_S = 5.0

Listen = Callable[..., Network]


@pytest.fixture
def port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def listen(port: int) -> Iterator[Listen]:
    """Listens as a host, and closes it after the test."""
    opened: list[Network] = []

    def listening(host: str = "n0", addresses: Mapping[str, str] = ADDRESSES) -> Network:
        opened.append(Network(host, addresses, port))
        # The names of the others are looked up in a thread.
        until(lambda: len(opened[-1]._targets) == len(addresses) - 1)
        return opened[-1]

    yield listening
    for network in opened:
        network.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON_S
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


def udp_listeners(port: int) -> list[str]:
    """By the kernel's own table, the addresses (as it writes them) that something listens on at ``port``."""
    local = [line.split()[1] for line in Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]]
    return [address.split(":")[0] for address in local if int(address.split(":")[1], 16) == port]


def datagrams_of(network: Network, count: int) -> list[bytes]:
    """The first ``count`` that come."""
    came: list[bytes] = []
    end = time.monotonic() + SOON_S
    while len(came) < count and time.monotonic() < end:
        came += network.receive(0.1)[0]
    return came


def stock_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket gets what a stock kernel gives without being asked; it doubles what it is asked for (socket(7))."""
    monkeypatch.setattr(of_supervisor, "BUFFER_BYTES", 212992 // 2)


def test_it_listens_on_the_nodes_own_address_alone(listen: Listen, port: int) -> None:
    listen()
    assert udp_listeners(port) == ["0100007F"]


def test_an_address_that_is_translated_on_the_way_opens_no_other_network(
    listen: Listen, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_supervisor, "address_towards", lambda address, port: "127.0.0.2")
    listen(addresses={"n0": "192.0.2.1"})
    assert udp_listeners(port) == ["0200007F"]


def test_a_port_that_is_taken_is_named(listen: Listen, port: int) -> None:
    listen()
    with pytest.raises(GaudiError, match=f"control_port {port} cannot be used on n0: Address already in use"):
        Network("n0", ADDRESSES, port)


def test_all_others_are_told_or_those_that_are_named(listen: Listen) -> None:
    first, second, third = (listen(host) for host in ADDRESSES)
    first.send([b"one", b"two"])
    assert datagrams_of(second, 2) == datagrams_of(third, 2) == [b"one", b"two"]
    first.send([b"three"], to=[0, 2])
    first.send([b"four"], to=frozenset())
    assert datagrams_of(third, 1) == [b"three"]
    assert second.receive(0.1) == first.receive(0.1) == ([], frozenset())


def test_a_port_that_nobody_listens_at_refuses_at_once(listen: Listen) -> None:
    network, third = listen("n0"), listen("n2")
    begun = time.monotonic()
    network.send([b"x"])
    came, refused = network.receive(SOON_S)
    assert time.monotonic() - begun < 0.3
    assert (came, refused) == ([], {1})
    # Each is told once.
    assert network.receive(0.1) == ([], frozenset())
    assert datagrams_of(third, 1) == [b"x"]


def test_who_refuses_keeps_nothing_from_others(listen: Listen) -> None:
    """The kernel gives the refusal of one datagram as the error of the next, which it does not send."""
    network, third = listen("n0"), listen("n2")
    wanted = [str(number).encode() for number in range(60)]
    for datagram in wanted:
        network.send([datagram])
    assert datagrams_of(third, len(wanted)) == wanted


def test_a_refusal_of_ipv6_is_one_too() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as closed:
        try:
            closed.bind(("::1", 0))
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        there = closed.getsockname()[1]
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as opened:
        opened.setblocking(False)
        assert ask_for_refusals(opened)
        opened.sendto(b"x", ("::1", there))
        found: set[tuple[str, int]] = set()
        until(lambda: bool(found.update(refused_targets(opened)) or found))
        assert found == {("::1", there)}


@pytest.mark.parametrize(
    ("number", "origin", "refused"),
    [
        (errno.ECONNREFUSED, 2, {("192.0.2.1", 29400)}),
        # Nobody answers to this address, or a firewall says so.
        (errno.EHOSTUNREACH, 2, set()),
        (errno.EACCES, 2, set()),
        # This node's own word (SO_EE_ORIGIN_LOCAL).
        (errno.ECONNREFUSED, 1, set()),
    ],
)
def test_only_a_closed_port_is_a_refusal(number: int, origin: int, refused: set[tuple[str, int]]) -> None:
    class Queue:
        """What the kernel gives for the errors of one datagram; other errors cannot be made on a loopback."""

        def __init__(self) -> None:
            error = struct.pack("=IBBBBII", number, origin, 3, 3, 0, 0, 0) + bytes(16)
            stamp = (socket.SOL_SOCKET, 29, bytes(16))
            self.answers = [(b"", [stamp, (socket.IPPROTO_IP, 11, error)], 0, ("192.0.2.1", 29400))]

        def recvmsg(self, *sizes: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, tuple[str, int]]:
            if not self.answers:
                raise BlockingIOError
            return self.answers.pop()

    assert refused_targets(Queue()) == refused


def test_without_an_error_queue_datagrams_come_all_the_same(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as opened:
        assert not ask_for_refusals(opened)
    monkeypatch.setattr(of_supervisor, "ask_for_refusals", lambda opened: False)
    network, third = listen("n0"), listen("n2")
    for _round in range(20):
        network.send([b"x"])
        third.send([b"y"], to=[0])
    assert datagrams_of(third, 20) == [b"x"] * 20
    assert datagrams_of(network, 20) == [b"y"] * 20
    assert network.receive(0.1) == ([], frozenset())


SENDER = """
import socket, sys, time
opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[2])):
    opened.sendto(number.to_bytes(1400, "big"), ("127.0.0.1", int(sys.argv[1])))
    if number % 32 == 31:
        time.sleep(0.012)
"""


def test_three_bursts_of_64_nodes_wait_for_a_loop_that_sleeps(
    listen: Listen, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock_buffer(monkeypatch)
    network = listen()
    assert network._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) <= 212992
    count = 64 * 4 * 3
    with subprocess.Popen([sys.executable, "-c", SENDER, str(port), str(count)]) as sender:
        time.sleep(0.5)
        assert sender.wait(SOON_S) == 0
    came = datagrams_of(network, count)
    assert [int.from_bytes(datagram, "big") for datagram in came] == list(range(count))


def test_of_a_flood_the_newest_are_kept(listen: Listen, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_supervisor, "MOST_KEPT", 100)
    network = listen()
    count = 320
    subprocess.run([sys.executable, "-c", SENDER, str(port), str(count)], check=True)
    until(lambda: bool(network._came) and int.from_bytes(network._came[-1], "big") == count - 1)
    came, _refused = network.receive(0)
    assert [int.from_bytes(datagram, "big") for datagram in came] == list(range(count - 100, count))


def test_it_waits_for_the_time_it_is_given_and_costs_nothing(listen: Listen) -> None:
    network = listen()
    network.send([b"x"])
    refused: set[int] = set()
    until(lambda: bool(refused.update(network.receive(0.1)[1]) or refused == {1, 2}))
    begun, used = time.monotonic(), time.process_time()
    assert network.receive(0.5) == ([], frozenset())
    assert 0.45 < time.monotonic() - begun < 2.0
    assert time.process_time() - used < 0.1


def test_a_signal_ends_the_wait(listen: Listen) -> None:
    network = listen()
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    wakes = signal.set_wakeup_fd(network.wake.fileno(), warn_on_full_buffer=False)
    try:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        begun = time.monotonic()
        assert network.receive(SOON_S) == ([], frozenset())
        assert time.monotonic() - begun < 2.0
    finally:
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """Addresses of names; None while it cannot be resolved."""
    found: dict[str, str | None] = {}
    real = socket.getaddrinfo

    def resolve(host: str, *arguments: object, **named: object) -> object:
        address = found.get(host, host)
        if address is None:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return real(address, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return found


def test_a_name_that_resolves_later_is_reached_then(
    listen: Listen, port: int, names: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_supervisor, "RESOLVE_AGAIN_S", 0.05)
    names["late"] = None
    second = listen("n1")
    network = Network("n0", {"n0": "127.0.0.1", "n1": "late"}, port)
    try:
        network.send([b"x"])
        assert second.receive(0.2) == ([], frozenset())
        names["late"] = "127.0.0.2"
        until(lambda: bool(network.send([b"x"]) or second.receive(0.05)[0]))
    finally:
        network.close()


def test_closed_it_leaves_no_thread(port: int, names: dict[str, str | None]) -> None:
    names["never"] = None
    before = set(threading.enumerate())
    network = Network("n0", {"n0": "127.0.0.1", "n1": "never"}, port)
    assert len(set(threading.enumerate()) - before) == 2
    network.close()
    until(lambda: not set(threading.enumerate()) - before)
    assert udp_listeners(port) == []
