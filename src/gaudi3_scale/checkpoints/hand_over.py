# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node runs in place of torchrun where its program's checkpoints lie on its own disk: it sees to it that every
node of the generation has the newest whole one, and becomes torchrun.

``python -I -m gaudi3_scale.checkpoints.hand_over SUPERVISION.json MEMBERS PROGRAM…``, MEMBERS being the indexes of the
nodes in the order of their ranks, with commas. The first one asks the others and decides. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaudi3_scale.checkpoints.fence import VARIABLE
from gaudi3_scale.checkpoints.fetched import FILES, SET_ASIDE, Fetch, Order, Store, order_from
from gaudi3_scale.checkpoints.foreign_files import MARK, Inventory, inventory_from, inventory_of
from gaudi3_scale.checkpoints.foreign_plan import Plan, checkpoint_of, plan
from gaudi3_scale.checkpoints.peers import Channel, Listener, PeerError, connect
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.supervisor.files import Supervision, append_event, read_supervision
from gaudi3_scale.supervisor.state import Event

HANDED_OVER, SET_ASIDE_EVENT = "handed_over", "set_aside"
# The nodes of a generation start within seconds of each other.
JOIN_S = 120.0
CLOSE_S = 5.0
_MOST_NAMED = 3


class Member:
    """This node among those of the generation; number 0 decides. ``option`` names the directory as the user did."""

    def __init__(self, given: Supervision, members: Sequence[int], generation: str) -> None:
        self.names = [given.rules.names[index] for index in members]
        self.number = list(members).index(given.rules.index)
        self.given, self.generation = given, generation
        self.directory = Path(given.checkpoint_directory)
        self.option = f"checkpoint_directory {self.directory} (gaudi_training_checkpoint_directory)"
        self.store = Store(self.directory, given.key, generation)
        self.joined: queue.Queue[tuple[dict[str, Any], Channel]] = queue.Queue()
        self._mark = self.directory / f"{MARK}{given.host}-{secrets.token_hex(8)}"

    def serve(self, channel: Channel) -> None:
        """What another node wants: to take part, or files."""
        wish = channel.receive()
        if wish != FILES:
            self.joined.put((wish, channel))
            return
        with contextlib.closing(channel):
            self.store.give(channel)

    def make_mark(self) -> str:
        """By which others see that they share the directory. Raises PeerError where it cannot be written."""
        try:
            for left in self.directory.glob(f"{MARK}{self.given.host}-*"):
                left.unlink(missing_ok=True)
            self._mark.touch()
        except OSError as error:
            raise PeerError(f"{self.given.host}: {error.strerror}") from error
        return self._mark.name

    def remove_mark(self) -> None:
        with contextlib.suppress(OSError):
            self._mark.unlink()

    def look(self, marks: Sequence[str]) -> dict[str, Any]:
        """The first node whose mark is seen here, and what is here where that is this node."""
        first = next(number for number, mark in enumerate(marks) if (self.directory / Path(mark).name).exists())
        if first != self.number:
            return {"first": first}
        try:
            inventory = inventory_of(self.directory)
        except OSError as error:
            return {"failure": f"{self.given.host}: {error.filename or self.directory}: {error.strerror}"}
        except GaudiError as error:
            return {"failure": f"{self.given.host}: {error}"}
        self.store.knows(inventory)
        return {"first": first, "inventory": inventory.as_plain()}

    def refusal(self, reason: str) -> GaudiError:
        return GaudiError(
            f"{self.option} cannot be synchronized between the nodes: {reason}; fix it there, or name a directory that "
            "all nodes see."
        )


def main(argv: Sequence[str]) -> int:
    """Returns only where the program cannot be started."""
    file, members, *program = argv
    if not hand_over(file, members):
        return 1
    # Python ignores these, and what it becomes would too.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.stderr.write(f"{program[0]} cannot be run: {error.strerror}\n")
    return 1


def hand_over(file: str, members: str) -> bool:
    """Whether every node of the generation has what it needs now; where not, standard error says why."""
    try:
        given = read_supervision(file)
        indexes = [int(index) for index in members.split(",")]
        member = Member(given, indexes, os.environ[VARIABLE])
        if member.number == 0:
            _lead(member)
        else:
            _follow(member)
    except GaudiError as error:
        sys.stderr.write(f"{error}\n")
        return False
    return True


def _lead(member: Member) -> None:
    """Raises GaudiError where not every node has what it needs now."""
    listener = Listener(member.given.rendezvous_port, member.given.key, member.generation, member.serve)
    channels: dict[int, Channel] = {}
    try:
        reason = _carried_out(member, channels, _gathered(member, channels))
    except (PeerError, ValueError, LookupError, TypeError) as error:
        reason = str(error) or type(error).__name__
    member.remove_mark()
    listener.close()
    for channel in channels.values():
        with contextlib.suppress(PeerError):
            channel.send({"end": reason})
    for channel in channels.values():
        channel.wait_for_end(CLOSE_S)
    if reason:
        raise member.refusal(reason)


def _gathered(member: Member, channels: dict[int, Channel]) -> dict[int, tuple[str, int]]:
    """Wait for all others: fills ``channels``, and returns mark and port of each node."""
    reached = {0: (member.make_mark(), member.given.rendezvous_port)}
    end = time.monotonic() + JOIN_S
    while len(reached) < len(member.names):
        try:
            wish, channel = member.joined.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            missing = [name for number, name in enumerate(member.names) if number not in reached]
            raise PeerError(f"{', '.join(missing)} did not connect within {JOIN_S:.0f} s") from None
        if "failure" in wish:
            channels[int(wish["number"])] = channel
            raise PeerError(str(wish["failure"]))
        number = int(wish["number"])
        channels[number] = channel
        reached[number] = (str(wish["mark"]), int(wish["port"]))
    return reached


def _carried_out(member: Member, channels: dict[int, Channel], reached: dict[int, tuple[str, int]]) -> str:
    """Ask what each has, decide, and wait until all have done theirs; returns what went wrong, or nothing."""
    marks = [reached[number][0] for number in range(len(member.names))]
    for channel in channels.values():
        channel.send({"marks": marks})
    answers = {0: member.look(marks), **{number: channel.receive() for number, channel in channels.items()}}
    failure = next((str(answer["failure"]) for answer in answers.values() if "failure" in answer), "")
    found = {number: answer["inventory"] for number, answer in sorted(answers.items()) if "inventory" in answer}
    inventories = {number: inventory_from(reported) for number, reported in found.items()}
    if failure or len(inventories) < 2:
        # They all see one directory, and find there what any of them wrote.
        return failure
    nodes = list(inventories)
    decided = plan(list(inventories.values()), [member.names[node] for node in nodes])
    orders = _orders(member, nodes, list(inventories.values()), decided, reached)
    begun = time.monotonic()
    for node in nodes[1:]:
        channels[node].send({"order": orders[node].as_plain()})
    failures = {nodes[0]: member.store.carry_out(orders[nodes[0]])}
    failures.update({node: str(channels[node].receive()) for node in nodes[1:]})
    failure = next((f"{member.names[node]}: {why}" for node, why in failures.items() if why), "")
    if not failure:
        _keep(member, orders[nodes[0]])
        _note(member, nodes, list(inventories.values()), decided, time.monotonic() - begun)
    return failure


def _follow(member: Member) -> None:
    """Raises GaudiError where the first node says so, or is gone."""
    listener = Listener(0, member.given.key, member.generation, member.serve)
    first = member.names[0]
    wish: dict[str, Any] = {"number": member.number, "port": listener.port}
    try:
        address, port = member.given.addresses[first], member.given.rendezvous_port
        channel = connect(address, port, member.given.key, member.generation, JOIN_S)
        with contextlib.closing(channel):
            try:
                wish["mark"] = member.make_mark()
            except PeerError as error:
                wish["failure"] = str(error)
            channel.send(wish)
            order = None
            while "end" not in (said := channel.receive()):
                if "marks" in said:
                    channel.send(member.look(said["marks"]))
                else:
                    order = order_from(said["order"])
                    channel.send(member.store.carry_out(order))
            if said["end"]:
                raise member.refusal(str(said["end"]))
            if order:
                _keep(member, order)
    except (PeerError, ValueError, LookupError, TypeError) as error:
        raise member.refusal(f"{first}: {error}") from error
    finally:
        member.remove_mark()
        listener.close()


def _keep(member: Member, order: Order) -> None:
    try:
        member.store.remember(order)
    except OSError as error:
        raise member.refusal(f"{member.given.host}: {error.strerror}") from error


def _orders(
    member: Member,
    nodes: Sequence[int],
    inventories: Sequence[Inventory],
    decided: Plan,
    reached: dict[int, tuple[str, int]],
) -> dict[int, Order]:
    """By node. Of many that lack a file two get it from the node that has it, and each of these hands it on to two."""
    fetch: dict[int, list[Fetch]] = {place: [] for place in range(len(nodes))}
    for copy in decided.copies:
        found = inventories[copy.source].files[copy.path]
        for position, place in enumerate(copy.receivers):
            giver = nodes[copy.source if position < 2 else copy.receivers[position // 2 - 1]]
            name = member.names[giver]
            where = (name, member.given.addresses[name], reached[giver][1])
            fetch[place].append(Fetch(copy.path, found.bytes, found.written, found.link, *where))
    turn = max(inventory.turn for inventory in inventories) + 1
    orders = {}
    for place, node in enumerate(nodes):
        inventory, removed = inventories[place], (decided.removed or {}).get(place, ())
        own = {path for path in inventory.copies if not inventory.files[path].fresh} - set(removed)
        orders[node] = Order(
            turn,
            tuple(sorted(own | {one.path for one in fetch[place]})),
            tuple(one.path for one in decided.set_aside if place in one.nodes),
            removed,
            tuple(fetch[place]),
            decided.times,
        )
    return orders


def _note(
    member: Member, nodes: Sequence[int], inventories: Sequence[Inventory], decided: Plan, seconds: float
) -> None:
    """Leave an event for each thing that people want to know."""
    number = int(member.generation.rpartition(":")[2])
    names = [member.names[node] for node in nodes]
    for aside in decided.set_aside:
        where = _names(names, aside.nodes)
        then = (
            f"{aside.used} is used instead"
            if aside.used
            else ("there is none before it, and the program starts from the beginning")
        )
        text = (
            f"{aside.path} in {member.directory} was cut off when the ranks ended: {aside.reason}. It is in "
            f"{member.directory}/{SET_ASIDE} on {where} now; {then}."
        )
        _append(member, Event(SET_ASIDE_EVENT, number, None, text))
    if decided.copies:
        whole = sorted({checkpoint_of(copy.path) or copy.path for copy in decided.copies})
        more = f" and {len(whole) - _MOST_NAMED} more" if len(whole) > _MOST_NAMED else ""
        givers = sorted({copy.source for copy in decided.copies})
        getters = sorted({place for copy in decided.copies for place in copy.receivers})
        size = sum(inventories[copy.source].files[copy.path].bytes * len(copy.receivers) for copy in decided.copies)
        text = (
            f"{', '.join(whole[:_MOST_NAMED])}{more} in {member.directory}: {_names(names, getters)} got what was "
            f"missing there from {_names(names, givers)}, {size / 1e6:.1f} MB in {seconds:.1f} s."
        )
        _append(member, Event(HANDED_OVER, number, None, text))


def _names(names: Sequence[str], places: Sequence[int]) -> str:
    return " and ".join(names[place] for place in places)


def _append(member: Member, event: Event) -> None:
    # A full disk is no reason to end what runs.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{event.text}\n")
        append_event(member.given.events, event)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
