# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One node's part in handing over the checkpoints of another program: what it gives, gets, and sets aside."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaudi3_scale.checkpoints.foreign_files import OWN, Inventory, checked_path, keep_last_start
from gaudi3_scale.checkpoints.peers import Channel, PeerError, connect

SET_ASIDE, INCOMING = f"{OWN}/set_aside", f"{OWN}/incoming"
# What a node sends first that is about to ask for files.
FILES = "files"
_CONNECT_S = 30.0


@dataclass(frozen=True)
class Fetch:
    """A file that this node gets from ``node``, which listens at ``address`` and ``port``. ``link`` as of Found."""

    path: str
    bytes: int
    written: int
    link: str
    node: str
    address: str
    port: int


@dataclass(frozen=True)
class Order:
    """What one node is to do. ``turn`` and ``copies`` are what it is to remember."""

    turn: int
    copies: tuple[str, ...]
    set_aside: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    fetch: tuple[Fetch, ...] = ()
    times: Mapping[str, int] | None = None

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)


def order_from(reported: Any) -> Order:
    """Raises ValueError where it is none."""
    try:
        fetch = tuple(Fetch(**about) for about in reported["fetch"])
        paths = {name: tuple(map(checked_path, reported[name])) for name in ("copies", "set_aside", "removed")}
        times = {checked_path(path): int(time) for path, time in (reported["times"] or {}).items()}
        for one in fetch:
            checked_path(one.path)
        return Order(int(reported["turn"]), **paths, fetch=fetch, times=times)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no order: {error}") from error


class Store:
    """The directory of this node, in which others may read what the inventory has, and what arrives."""

    def __init__(self, directory: Path, key: bytes, generation: str) -> None:
        self._directory, self._key, self._generation = directory, key, generation
        self._inventory = Inventory()
        self._arriving: dict[str, threading.Event] = {}
        self._ordered = threading.Event()
        self._failed = False

    def knows(self, inventory: Inventory) -> None:
        """What there is to give."""
        self._inventory = inventory

    def give(self, channel: Channel) -> None:
        """Answer one node after the other file, until it closes."""
        self._ordered.wait()
        while True:
            path = checked_path(channel.receive())
            if path in self._arriving:
                self._arriving[path].wait()
                if self._failed:
                    raise PeerError("it was not copied here")
            elif path not in self._inventory.files:
                raise PeerError(f"it asked for {path}")
            size = (self._directory / path).lstat().st_size
            channel.send(size)
            channel.send_file(self._directory / path, size)

    def carry_out(self, order: Order) -> str:
        """Do it; returns what went wrong, or nothing."""
        self._arriving = {one.path: threading.Event() for one in order.fetch}
        self._ordered.set()
        try:
            for path in order.set_aside:
                self._set_aside(path)
            for path in order.removed:
                self._remove(path)
            failure = self._no_room(order.fetch) or self._get(order.fetch)
            for folder, time in sorted((order.times or {}).items(), reverse=True):
                if not failure and (self._directory / folder).is_dir():
                    os.utime(self._directory / folder, ns=(time, time))
        except OSError as error:
            failure = f"{error.filename or self._directory}: {error.strerror}"
        self._failed = bool(failure)
        for arriving in self._arriving.values():
            arriving.set()
        return failure

    def remember(self, order: Order) -> None:
        """To be called when all nodes have done theirs. Raises OSError."""
        (self._directory / OWN).mkdir(exist_ok=True)
        keep_last_start(self._directory, order.turn, order.copies)

    def _no_room(self, fetch: Sequence[Fetch]) -> str:
        wanted, free = sum(one.bytes for one in fetch), shutil.disk_usage(self._directory).free
        return f"{wanted / 1e9:.1f} GB are to come, and {free / 1e9:.1f} GB are free" if wanted > free else ""

    def _get(self, fetch: Sequence[Fetch]) -> str:
        incoming = self._directory / INCOMING
        shutil.rmtree(incoming, ignore_errors=True)
        if not fetch:
            return ""
        incoming.mkdir(parents=True)
        channels: dict[str, Channel] = {}
        try:
            for number, one in enumerate(fetch):
                try:
                    if not one.link and one.node not in channels:
                        channels[one.node] = connect(one.address, one.port, self._key, self._generation, _CONNECT_S)
                        channels[one.node].send(FILES)
                    self._get_one(one, incoming / str(number), None if one.link else channels[one.node])
                except (PeerError, ValueError, OSError) as error:
                    reason = error.strerror if isinstance(error, OSError) else str(error)
                    return f"{one.path} of {one.node} could not be copied: {reason}"
                self._arriving[one.path].set()
        finally:
            for channel in channels.values():
                channel.close()
            shutil.rmtree(incoming, ignore_errors=True)
        return ""

    def _get_one(self, one: Fetch, new: Path, channel: Channel | None) -> None:
        place = self._place(one.path)
        if channel is None:
            new.symlink_to(one.link)
            os.utime(new, ns=(one.written, one.written), follow_symlinks=False)
        else:
            channel.send(one.path)
            if channel.receive() != one.bytes:
                raise PeerError("it was written while it was read; is another job in this directory?")
            with new.open("xb") as stream:
                for chunk in channel.receive_file(one.bytes):
                    stream.write(chunk)
                stream.flush()
                os.fsync(stream.fileno())
            # Programs look for the one that was written last.
            os.utime(new, ns=(one.written, one.written))
        place.parent.mkdir(parents=True, exist_ok=True)
        new.replace(place)

    def _place(self, path: str) -> Path:
        """Where it belongs; ValueError where a link would lead elsewhere."""
        place = self._directory
        for part in path.split("/")[:-1]:
            place /= part
            if place.is_symlink():
                raise ValueError(f"{place} is a link")
        return self._directory / path

    def _set_aside(self, path: str) -> None:
        place = self._place(path)
        if not os.path.lexists(place):
            return
        aside = self._directory / SET_ASIDE / path
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside)
        aside.parent.mkdir(parents=True, exist_ok=True)
        place.replace(aside)

    def _remove(self, path: str) -> None:
        place = self._place(path)
        place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == self._directory or next(folder.iterdir(), None) is not None:
                return
            folder.rmdir()
