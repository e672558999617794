#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""hub_hostile.py SOCKET [PROCESS VERBLINE NAME]: joins a hub as honest lanes and as hostile ones: descriptors that are no signals,
frames in another lane's name, more than its share. After each, the honest lanes still reach each other, the hub has no descriptor
more, and the counter that names the fault has risen. SOCKET alone: of a
hub that has named the lane 10.99.0.2 as a router."""

import errno
import fcntl
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

import frames
import hub_client

F_ADD_SEALS, F_SEAL_SHRINK, F_SETPIPE_SZ = 1033, 2, 1031
MEMIF_VERSION, COOKIE = 0x200, 0x3E31F20
ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
LOG2_SLOTS, SLOT = 4, 2048
SLOTS = 1 << LOG2_SLOTS
RING = 128 + 16 * SLOTS
BROADCAST = b"\xff" * 6


class Refused(Exception):
    pass


class Lane:
    """A memif client that says what it is told to. Ring 0 is to the hub, ring 1 from it."""

    def __init__(self, path, name, receive_signal=None):
        self.hub = hub_client.Hub(path)
        self.info = self.hub.join("00:00:00:00:00:00", [], name)
        self.mac, self.ip = frames.mac(self.info["mac"]), self.info["ip"]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(self.info["memif"])
        self.expect(HELLO)
        self.sent = 0
        self.event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.offer(os.eventfd(0, os.EFD_CLOEXEC) if receive_signal is None else receive_signal)

    def expect(self, kind):
        answer = self.socket.recv(128)
        if not answer or answer[0] == DISCONNECT:
            raise Refused(answer[6:].rstrip(b"\0").decode())
        if answer[0] != kind:
            sys.exit(f"a message of type {answer[0]}")

    def ask(self, kind, body=b"", fds=(), answer=ACK):
        socket.send_fds(self.socket, [struct.pack("<H", kind) + body.ljust(126, b"\0")], fds)
        self.expect(answer)

    def offer(self, signal):
        size = 2 * RING + 2 * SLOTS * SLOT
        memory = os.memfd_create("lane", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, size)
        fcntl.fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)
        self.memory = mmap.mmap(memory, size)
        for ring in (0, 1):
            struct.pack_into("<I", self.memory, ring * RING, COOKIE)
            for i in range(SLOTS):
                at = 2 * RING + (ring * SLOTS + i) * SLOT
                struct.pack_into("<HHIII", self.memory, ring * RING + 128 + 16 * i, 0, 0, SLOT, at, 0)
        struct.pack_into("<H", self.memory, RING + 6, SLOTS)
        self.ask(INIT, struct.pack("<HIB", MEMIF_VERSION, 0, 0))
        self.ask(ADD_REGION, struct.pack("<HQ", 0, size), [memory])
        os.close(memory)
        self.ask(ADD_RING, struct.pack("<HHHIBH", 1, 0, 0, 0, LOG2_SLOTS, 0), [self.event])
        self.ask(ADD_RING, struct.pack("<HHHIBH", 0, 0, 0, RING, LOG2_SLOTS, 0), [signal])
        os.close(signal)
        self.ask(CONNECT, answer=CONNECTED)

    def send(self, frame):
        slot = self.sent % SLOTS
        at = 2 * RING + slot * SLOT
        self.memory[at : at + len(frame)] = frame
        struct.pack_into("<HHI", self.memory, 128 + 16 * slot, 0, 0, len(frame))
        self.sent += 1
        struct.pack_into("<H", self.memory, 6, self.sent & 0xFFFF)
        self.signal()

    def signal(self):
        os.eventfd_write(self.event, 1)

    def received(self):
        """How many frames, all in all; their slots are the hub's again."""
        count = struct.unpack_from("<H", self.memory, RING + 64)[0]
        struct.pack_into("<H", self.memory, RING + 6, (count + SLOTS) & 0xFFFF)
        return count

    def close(self):
        self.hub.socket.close()
        self.socket.close()
        os.close(self.event)


class HubProcess:
    def __init__(self, path, process, verbline, name):
        self.path, self.process, self.show = path, process, [verbline, "show", name, "counters", "--all", "--json"]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def counter(self, name):
        rows = json.loads(subprocess.run(self.show, capture_output=True, check=True, timeout=20).stdout)
        return sum(row["value"] for row in rows if row["name"] == name)


def check(good, what):
    print(f"{'yes' if good else 'NO '} {what}", flush=True)
    if not good:
        sys.exit(1)


def within(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def reaches(one, other):
    """More than one frame: the switch may not have seen yet that a new lane is up."""
    before = other.received()
    for _ in range(25):
        one.send(frames.ethernet(BROADCAST, one.mac, 0x88B6, b"hello".ljust(46)))
        if within(0.2, lambda: other.received() != before):
            return True
    return False


def broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    full_pipe.reader = reader  # stays open
    return writer


def signals_that_are_none(hub, one, other):
    for kind, make in (("a pipe without a reader", broken_pipe), ("a full pipe", full_pipe)):
        before = hub.descriptors()
        try:
            Lane(hub.path, "hostile", make())
            check(False, f"{kind} for a signal is refused")
        except Refused as reason:
            check("no eventfd" in str(reason), f"{kind} for a signal is refused: {reason}")
        check(reaches(one, other), "the others do not notice")
        check(within(10, lambda: hub.descriptors() == before), "the hub has no descriptor more")


def fills(event):
    """The counter of an eventfd that others write, too."""
    try:
        os.eventfd_write(event, 2**64 - 2)
        return True
    except BlockingIOError:
        os.eventfd_read(event)
        return False


def signal_that_may_block(hub, one, other):
    event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    keep = os.dup(event)
    lane = Lane(hub.path, "full", event)
    check(reaches(one, lane), "a third lane is reached")
    check(within(5, lambda: fills(keep)), "its signal is full")
    os.set_blocking(keep, True)
    check(reaches(one, other) and reaches(other, one), "an eventfd that is full stops nobody")
    check(lane.received() > 1, "its lane has frames, too")
    lane.close()
    os.close(keep)


def too_many_descriptors(hub, one, other):
    joined = hub_client.Hub(hub.path)
    path = joined.join("00:00:00:00:00:00", [], "flood")["memif"]
    before = hub.descriptors()
    init = struct.pack("<HHIB", INIT, MEMIF_VERSION, 0, 0).ljust(128, b"\0")
    for fds in ([], [0], [0, 1], [0] * 100):
        for _ in range(3):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.settimeout(10)
            client.connect(path)
            client.recv(128)
            try:
                for _ in range(10):
                    socket.send_fds(client, [init], fds)
                    if not client.recv(128):
                        break
                else:
                    check(False, "`init` is accepted once")
            except OSError as error:
                check(error.errno in (errno.EPIPE, errno.ECONNRESET), "it hangs up")
            client.close()
    check(within(10, lambda: hub.descriptors() <= before), "messages with too many descriptors leave none behind")
    check(hub.counter("link_refusals") >= 9, "each is counted as link_refusals")
    check(reaches(one, other), "the others do not notice")
    gone = hub.counter("removed_ports")
    joined.socket.close()
    check(within(5, lambda: hub.counter("removed_ports") > gone), "its lane is removed")
    check(hub.counter("link_refusals") >= 9, "what it has counted is kept")


def impersonation(hub, one, other, thief):
    ask = frames.icmp_echo()
    lies = (
        ("IPv4 from another's address", "rx_dropped_source_ip",
         frames.ethernet(one.mac, thief.mac, frames.ETHERTYPE_IPV4, frames.ipv4(other.ip, one.ip, ask))),
        ("the same behind a VLAN tag", "rx_dropped_source_ip",
         frames.ethernet(one.mac, thief.mac, 0x8100, struct.pack("!HH", 7, frames.ETHERTYPE_IPV4) + frames.ipv4(other.ip, one.ip, ask))),
        ("ARP for another's address", "rx_dropped_arp",
         frames.ethernet(BROADCAST, thief.mac, frames.ETHERTYPE_ARP, frames.arp(2, thief.mac, other.ip, one.mac, one.ip, 1) + bytes(18))),
        ("a frame from another's MAC address", "rx_dropped_source",
         frames.ethernet(one.mac, other.mac, frames.ETHERTYPE_IPV4, frames.ipv4(thief.ip, one.ip, ask))),
    )  # fmt: skip
    for what, counter, lie in lies:
        before, dropped = one.received(), hub.counter(counter)
        thief.send(lie)
        check(within(5, lambda: hub.counter(counter) == dropped + 1), f"{what} is dropped as {counter}")
        check(one.received() == before, "and not delivered")
    before = one.received()
    thief.send(frames.ethernet(one.mac, thief.mac, frames.ETHERTYPE_IPV4, frames.ipv4(thief.ip, one.ip, ask)))
    check(within(5, lambda: one.received() == before + 1), "its own address is delivered")


def router(path):
    """The second lane is named as a router."""
    host, gateway, thief = Lane(path, "host"), Lane(path, "gateway"), Lane(path, "thief")
    check(reaches(gateway, host) and reaches(thief, host), "three lanes reach each other")
    for sender, delivered in ((thief, 0), (gateway, 1), (thief, 0)):
        before = host.received()
        packet = frames.ipv4("192.0.2.1", host.ip, frames.icmp_echo())
        sender.send(frames.ethernet(host.mac, sender.mac, frames.ETHERTYPE_IPV4, packet))
        sender.send(frames.ethernet(host.mac, sender.mac, 0x88B6, b"behind it".ljust(46)))
        check(within(5, lambda: host.received() == before + delivered + 1), f"{sender.info['ip']}: {delivered} from elsewhere")


def main():
    if len(sys.argv) == 2:
        return router(sys.argv[1])
    hub = HubProcess(*sys.argv[1:])
    one, other = Lane(hub.path, "one"), Lane(hub.path, "other")
    check(reaches(one, other) and reaches(other, one), "two lanes reach each other")
    signals_that_are_none(hub, one, other)
    signal_that_may_block(hub, one, other)
    too_many_descriptors(hub, one, other)
    impersonation(hub, one, other, Lane(hub.path, "thief"))


if __name__ == "__main__":
    main()
