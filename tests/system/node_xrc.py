#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""node_xrc.py [--first] PROGRAM FILE VERBLINE HERE... and THERE...: XRC among processes of two nodes. HERE and THERE are the commands by which PROGRAM
(verbs_xrc) is run on each, and end in `node:NAME`. Three processes there share a target queue pair, to which one here is connected. With --first, only the first story of all."""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

LIMIT = 60  # seconds; a hang ends the test
INTRODUCTION = re.compile(r"qpn (\d+) psn (\d+) gid (\S+) lid (\d+) srq (\d+) key (\d+) address (\d+)")
SUCCESS = "success"


class Process:
    """One verbs_xrc, and what it has said of itself."""

    def __init__(self, command, *arguments):
        self.child = subprocess.Popen(
            [*command, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.timer = threading.Timer(LIMIT, self.kill)
        self.timer.daemon = True
        self.timer.start()
        atexit.register(self.kill)
        line = self.answer()
        found = INTRODUCTION.fullmatch(line)
        if not found:
            sys.exit(f"node_xrc: {arguments}: `{line}`")
        self.qpn, self.psn, self.gid = int(found[1]), int(found[2]), found[3]
        self.lid, self.srq, self.key, self.address = (int(found[i]) for i in (4, 5, 6, 7))

    def tell(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()

    def answer(self):
        return self.child.stdout.readline().strip()

    def ask(self, *words):
        self.tell(*words)
        return self.answer()

    def kill(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.timer.cancel()

    def end(self):
        self.child.stdin.close()
        status = self.child.wait(20)
        self.timer.cancel()
        return status


checks = 0


def expect(what, got, wanted):
    global checks
    checks += 1
    if got != wanted:
        print(f"    {what}: NOT so: {got!r}, not {wanted!r}", flush=True)
        sys.exit(1)
    print(f"    {what}", flush=True)


class Node:
    """One by its name in the command that runs a program on it."""

    verbline = None

    def __init__(self, command):
        self.name = command[-1].removeprefix("node:")

    def show(self, table):
        command = [Node.verbline, "show", self.name, table, "--json"]
        return json.loads(subprocess.run(command, check=True, timeout=20, capture_output=True).stdout)

    def requests(self):
        """Packets passed to processes that share a target, those that came again included."""
        return sum(row["value"] for row in self.show("counters") if row["name"] == "xrc_requests")

    def await_requests(self, count):
        until = time.monotonic() + 20
        while self.requests() < count:
            if time.monotonic() > until:
                sys.exit("node_xrc: no messages come")


def connect(initiator, target):
    expect("  the target is connected", target.ask("connect", initiator.qpn, initiator.psn, initiator.gid, initiator.lid), "connected")
    expect("  and the initiator", initiator.ask("connect", target.qpn, target.psn, target.gid, target.lid), "connected")


class Scene:
    """An initiator here; there a target and two members, of which the first has opened the target by its number."""

    def __init__(self, here, there, program, file):
        self.initiator = Process(here, program, "initiator")
        self.target = Process(there, program, "target", file)
        connect(self.initiator, self.target)
        self.first = Process(there, program, "member", file, self.target.qpn)
        self.second = Process(there, program, "member", file)
        self.all = [self.target, self.first, self.second]

    def spread(self, count, size, queues=None):
        """COUNT messages, for the processes in turn; each gets its share, of the right numbers."""
        queues = queues or self.all
        for process in queues:
            process.tell("receive", count // len(queues))
        expect(f"{count} messages of {size} bytes for {len(queues)} in turn are sent",
               self.initiator.ask("spread", count, size, *(process.srq for process in queues)), SUCCESS)
        for place, process in enumerate(queues):
            expect(f"  and received by the {'first second third'.split()[place]}", process.answer(),
                   f"sum {sum(range(place, count, len(queues)))}")

    def end(self):
        for process in [self.initiator, *self.all]:
            process.kill()


def together(here, there, program, file):
    """All that XRC has, to each of three processes over one connection."""
    scene = Scene(here, there, program, file)
    expect("the number is the target's in all processes", scene.first.qpn, scene.target.qpn)
    expect("queues have different numbers", len({process.srq for process in scene.all}), 3)
    if here != there:
        (row,) = Node(there).show("xrc")
        expect("an operator sees the target", row["target"], f"0x{scene.target.qpn:06x}")
        expect("  and its peer", row["peer"], f"0x{scene.initiator.qpn:06x}")
        expect("  its state", row["state"], "rts")
        expect("  who has it open", len(row["opened_by"].split()), 2)
        expect("  and who shares it", len(row["shared_with"].split()), 3)
    scene.spread(300, 64)
    scene.spread(60, 5000)  # of several packets
    for process in scene.all:
        process.tell("receive", 200)
        expect("messages in a row for one", scene.initiator.ask("send", process.srq, 1000, 200, 512), SUCCESS)
        expect("  are received", process.answer(), f"sum {sum(range(1000, 1200))}")
        for value in (0x1122334455667788, 7):
            expect("a WRITE into its memory", scene.initiator.ask("write", process.srq, process.key, process.address, value), SUCCESS)
            expect("  is READ back", scene.initiator.ask("read", process.srq, process.key, process.address, value), SUCCESS)
    expect("more than a queue has requests for waits for the receiver",
           (scene.second.tell("receive", 600), scene.initiator.ask("send", scene.second.srq, 0, 600, 32))[1], SUCCESS)
    expect("  and arrives", scene.second.answer(), f"sum {sum(range(600))}")
    scene.end()


def owner_ends(here, there, program, file, how):
    """The process that made the target ends; another has opened it."""
    scene = Scene(here, there, program, file)
    scene.spread(30, 64)
    if how == "killed":
        scene.target.kill()
    elif how == "closed":
        expect("the handle of its maker is closed", scene.target.ask("close"), "closed")
    else:
        expect("its maker ends", scene.target.end(), 0)
    scene.spread(40, 64, [scene.first, scene.second])
    if how == "closed":
        scene.spread(30, 64)  # its shared receive queue is still in the domain
    late = Process(there, program, "member", file, scene.target.qpn)
    expect("one that comes later opens it", late.qpn, scene.target.qpn)
    scene.spread(40, 64, [late, scene.second])
    late.kill()
    scene.end()


def member_ends(here, there, program, file):
    """A process that shares the target is killed: idle, and with messages under way."""
    scene = Scene(here, there, program, file)
    scene.spread(30, 64)
    scene.second.kill()
    scene.spread(40, 64, [scene.target, scene.first])
    status = scene.initiator.ask("send", scene.second.srq, 0, 1, 64)
    expect("what is for its queue is refused", status, "remote invalid request error")
    scene.end()

    scene = Scene(here, there, program, file)
    # The receiver has no requests left, and the sender waits for it.
    before = Node(there).requests()
    scene.initiator.tell("send", scene.second.srq, 0, 1000, 64)
    Node(there).await_requests(before + 300)
    scene.second.kill()
    expect("what is under way to a process that is killed fails",
           scene.initiator.answer() in ("remote operation error", "remote invalid request error"), True)
    again = Process(here, program, "initiator")
    late = Process(there, program, "target", file)
    connect(again, late)
    scene.target.tell("receive", 20)
    expect("and the others are reached by a new connection", again.ask("send", scene.target.srq, 0, 20, 64), SUCCESS)
    expect("  as before", scene.target.answer(), f"sum {sum(range(20))}")
    again.kill()
    late.kill()
    scene.end()


def nobody_left(here, there, program, file):
    """The last handle is closed: the target is gone, though its domain is not."""
    scene = Scene(here, there, program, file)
    expect("a handle", scene.target.ask("close"), "closed")
    scene.spread(20, 64, [scene.target, scene.second])
    expect("the other handle", scene.first.ask("close"), "closed")
    expect("is the last", scene.initiator.ask("send", scene.second.srq, 0, 1, 64), "transport retry counter exceeded")
    scene.end()


def main():
    only_first = sys.argv[1] == "--first"
    if only_first:
        del sys.argv[1]
    program, file, Node.verbline = sys.argv[1:4]
    split = sys.argv.index("and")
    here, there = sys.argv[4:split], sys.argv[split + 1 :]
    stories = (
        ("three processes share a target", together),
        ("its maker is killed", lambda *all: owner_ends(*all, "killed")),
        ("its maker ends", lambda *all: owner_ends(*all, "ended")),
        ("its maker closes it", lambda *all: owner_ends(*all, "closed")),
        ("one that shares it is killed", member_ends),
        ("nobody has it open", nobody_left),
    )
    for name, story in stories[:1] if only_first else stories:
        for where, pair in (("of another node", (here, there)), ("of the same node", (here, here))):
            print(f"==> {name}, by an initiator {where}", flush=True)
            story(*pair, program, file)
    print(f"    {checks} checks")


main()
