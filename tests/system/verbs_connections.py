#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""verbs_connections.py LINKS DIRECTORY [--all] [--only REGEX]: runs unmodified programs that connect by librdmacm, two of them for
each row, and prints one table.

LINKS is a JSON file: {link: {"server": END, "client": END, "addresses": the server's, ...}} with ends as in verbs_pair.py.
"addresses" is {"v4": ADDRESS, "v6": ADDRESS}, or without it "hub": whose table tells what address the server was given. On a link
of {"alone": WHERE} one pair runs at a time, on all of that place together. One of {"datagram_sockets": true} is for udpong alone:
librdmacm's datagram sockets address their peers by LID only, which no RoCE device takes, and ask the kernel for them, which must
have the same addresses.

In arguments SERVER is the server's address, ANY the any address of that family, GROUP and GROUP6 a group of the row's own, FILE
and COPY files in DIRECTORY. A program with a port is told the row's.

The client is started when an id of the server listens, by the server's table of ids; what has none to listen with says a line. A
row passes if both ends end with status 0, say that they did what they were told to, as often, and complain of nothing. A server
that never ends is sent a SIGTERM when its client has ended."""

import argparse
import filecmp
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from verbs_pair import VERBLINE, Program, Wrong, judge_perftest, option, run_table

FIRST_PORT = 21500
ITERATIONS = 100
PINGS = 20
REPEATS = 10  # the fewer CPUs are free, the more often a race is lost
RACES = {  # by a word of the server's command line: what its own race looks like
    " -R": re.compile(r"RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\.$", re.MULTILINE),
    " -P": re.compile(r"^rdma_accept: Invalid argument$", re.MULTILINE),
    "rping ": re.compile(r"^rdma_get_cm_event: Bad file descriptor$", re.MULTILINE),
}
ENDLESS = ("rping -s -P", "cmtime", "rcopy", "udpong")
# They cannot be told a port: theirs is always the same, and -p is the port space.
WITHOUT_PORT = ("udaddy", "mckey")


@dataclass(frozen=True)
class Row:
    link: str
    server: str
    client: str
    family: str = "v4"
    clients: int = 1
    ready: str = ""  # what the server says before the client is to be started; else an id of it listens
    limit: float = 15.0

    @property
    def program(self):
        return self.client.split()[0]


# --- the table --------------------------------------------------------------------------------------------------------------


def rpings():
    yield "rping -s -a ANY", f"rping -c -a SERVER -C {PINGS}", {}
    for options in ("-v", "-v -V", "-v -q", "-v -V -S 4096"):
        yield f"rping -s {options} -a ANY -C {PINGS}", f"rping -c {options} -a SERVER -C {PINGS}", {}
    yield "rping -s -P -v -a ANY", f"rping -c -v -a SERVER -C {PINGS}", {"clients": 2}


def pairs_of_connections():
    for options in ("", "-c 10", "-c 10 -C 100 -S 4096", "-c 4 -C 10 -S 1000 -m", "-C 0 -c 2"):
        yield f"ucmatose -b ANY {options}".strip(), f"ucmatose -s SERVER {options}".strip(), {}
    for options in ("", "-c 4 -C 20 -S 512", "-p 0x111 -C 5"):
        yield f"udaddy -b ANY {options}".strip(), f"udaddy -s SERVER {options}".strip(), {}
    yield "cmtime -b ANY", "cmtime -s SERVER -c 100", {}


def groups(family):
    group = "GROUP" if family == "v4" else "GROUP6"
    for options, more in (("-p 0x111", ""), ("-p 0x111 -C 100 -S 1000 -c 2", ""), ("-p 0x2", ""), ("-p 0x111", " -o"), ("-p 0x2", " -o")):
        yield f"mckey -m {group} {options}", f"mckey -m {group} {options} -s{more}", {"ready": r"^mckey: joined dgid"}


def clients_and_servers():
    yield "rdma_server", "rdma_client -s SERVER", {}
    for kind in "rx":
        yield f"rdma_xserver -c {kind}", f"rdma_xclient -s SERVER -c {kind}", {}


def streams(family, all_sizes):
    for program in ("rstream", "riostream"):
        if all_sizes:
            yield f"{program} -b ANY -S all", f"{program} -s SERVER -S all", {"limit": 60}
        for options in ("-I 50 -C 1 -S 65536 -T v", "-I 50 -S 1000 -T a", "-I 50 -S 1000 -T b", "-I 50 -S 4096 -T n", "-I 50 -C 10 -S 100000 -i 0 -T v"):
            # Where its peer's last message and its end are there at once, it looks at the end first, and fails with POLLHUP.
            if program == "rstream" and "-T a" in options:
                continue
            yield f"{program} -b ANY {options}", f"{program} -s SERVER {options}", {}
    # Without an address the one listens for IPv4 alone; the other ends a host's name at its first colon.
    if family == "v6":
        return
    yield "rstream -I 50 -S 1000", "rstream -s SERVER -I 50 -S 1000 -T r", {}
    yield "rcopy", "rcopy FILE SERVER:COPY", {}


def datagram_sockets():
    for options in ("-C 10 -S 1000", "-C 100 -S 100 -T b", "-C 100 -S 100 -T n", "-C 50 -S 1000 -T a", "-C 50 -S 1000 -T e"):
        yield "udpong -b SERVER", f"udpong -s SERVER {options}", {}


def perftests():
    for verb in ("send", "write", "read", "atomic"):
        for kind in ("bw", "lat"):
            yield f"ib_{verb}_{kind} -R", f"ib_{verb}_{kind} -R SERVER", {}
    yield "ib_send_bw -R -c UD", "ib_send_bw -R -c UD SERVER", {}
    yield "ib_send_lat -R -c UD", "ib_send_lat -R -c UD SERVER", {}
    for options in ("-q 4", "-b", "-a -n 20", "-q 8 -e"):
        yield f"ib_send_bw -R {options}", f"ib_send_bw -R {options} SERVER", {"limit": 30}


def on(link, family, rows):
    for server, client, more in rows:
        yield Row(link, server, client, family, **more)


def whole_table(links):
    for link, what in links.items():
        if what.get("datagram_sockets"):
            yield from on(link, "v4", datagram_sockets())
            continue
        for family in ("v4", "v6"):
            yield from on(link, family, groups(family))
            yield from on(link, family, rpings())
            yield from on(link, family, pairs_of_connections())
            # Two million messages in turn: minutes where two programs and two nodes share two cores.
            yield from on(link, family, streams(family, all_sizes=not what.get("slow_turns")))
        yield from on(link, "v4", clients_and_servers())
        yield from on(link, "v4", perftests())  # of IPv6 they know GIDs, but no host's addresses


def usual_table(links):
    """Each program once on each link; most options on the first on which pairs run side by side."""
    first = next((link for link, what in links.items() if not what.get("alone")), None)
    rows = list(whole_table({link: what for link, what in links.items() if link == first}))
    # A group of either space is the same on RoCE, and mckey takes its time.
    long = re.compile(r"^mckey .*-p 0x2|-a -n 20")
    for row in rows:
        if row.limit < 60 and (row.family == "v4" or row.program in ("rping", "ucmatose", "mckey")) and not long.search(row.client):
            yield row
    for link, what in links.items():
        if link == first:
            continue
        seen = set()
        for row in whole_table({link: what}):
            # Both port spaces of groups where they differ.
            kind = (row.program, row.family, bool(what.get("alone")) and "-p 0x2" in row.client)
            if kind in seen or (row.family == "v6" and row.program not in ("rping", "mckey")):
                continue
            if row.program in ("rstream", "riostream") and "-S all" in row.client:
                continue
            seen.add(kind)
            yield row


# --- one row ----------------------------------------------------------------------------------------------------------------


def address_of(link, what, family, server):
    """The server's; on a hub the one that its lane was given."""
    if "addresses" in what:
        return what["addresses"][family]
    shown = subprocess.run([VERBLINE, "show", what["hub"], "hub", "--json"], capture_output=True, check=False, timeout=10).stdout
    for lane in json.loads(shown or "[]"):
        if lane["pid"] == server.process.pid:
            for address in lane["addresses"].split():
                if (":" in address) == (family == "v6"):
                    return address.partition("/")[0]
    raise Wrong(f"no {family} address of the server on {link}")


def judge_rping(row, server, clients):
    if "-v" not in row.client.split():
        return "ended"
    for client in clients:
        if len(re.findall(r"^ping data: rdma-ping-\d+: ", client.output, re.MULTILINE)) != PINGS:
            raise Wrong(f"a client did not see {PINGS} pings")
    if len(re.findall(r"^server ping data: rdma-ping-\d+: ", server.output, re.MULTILINE)) != PINGS * len(clients):
        raise Wrong(f"the server did not see {PINGS * len(clients)} pings")
    return f"{PINGS} pings" + (f" of each of {len(clients)} clients" if len(clients) > 1 else "")


def judge_status(row, *ends):
    """ucmatose, udaddy, mckey: they count their messages themselves."""
    for end in ends:
        if not end.says(r"^test complete$") or not end.says(r"^return status 0$"):
            raise Wrong("one end does not say that all went well")
    words = row.client.split()
    return f"{option(words, '-C', 10)} messages, {option(words, '-c', 1)} connections"


def judge_cmtime(row, client):
    if client.says(r"^failure"):
        raise Wrong("a connection failed")
    found = re.search(r"^connect *: +([\d.]+)", client.output, re.MULTILINE)
    if not found:
        raise Wrong("no time for connect")
    count = int(option(row.client.split(), "-c"))
    return f"{count} connections in {found[1]} ms"


def judge_end(*ends):
    """rdma_client, rdma_xclient and their servers."""
    if not all(end.says(r": end 0$") for end in ends):
        raise Wrong("one end does not say that all went well")
    return "one message each way"


def judge_stream(client):
    """name bytes xfers iters total time Gb/sec usec/xfer"""
    results = re.findall(r"^\S+ +\S+ +\S+ +(?:\S+ +)?\S+ +[\d.]+s +[\d.]+ +[\d.]+$", client.output, re.MULTILINE)
    if not results:
        raise Wrong("no results")
    return f"{len(results)} results"


def judge_copy(client, file, copy):
    if not client.says("done$") or not filecmp.cmp(file, copy, shallow=False):
        raise Wrong("the copy is not the file")
    return f"{os.path.getsize(file)} bytes, equal"


def judge(row, server, clients, words, names):
    """What was done, if all of it was."""
    program, client = row.program, clients[0]
    if program == "rping":
        return judge_rping(row, server, clients)
    if program in ("ucmatose", "udaddy", "mckey"):
        return judge_status(row, server, client)
    if program == "cmtime":
        return judge_cmtime(row, client)
    if program in ("rdma_client", "rdma_xclient"):
        return judge_end(server, client)
    if program == "rcopy":
        return judge_copy(client, names["FILE"], names["COPY"])
    if program.startswith("ib_"):
        return judge_perftest(program, words, ITERATIONS, client.output)
    return judge_stream(client)


def names_of(row, number, directory, what):
    """What stands for what in the arguments. Of a link without addresses of its own, the server's is known later."""
    known = {"SERVER": what["addresses"][row.family]} if "addresses" in what else {}
    return known | {
        "ANY": "0.0.0.0" if row.family == "v4" else "::",
        "GROUP6": f"ff1e::4:{number:x}",
        "GROUP": f"239.7.{number // 250}.{number % 250 + 1}",
        "FILE": str(directory / "file"),
        "COPY": str(directory / f"copy-{number}"),
    }


def command_of(line, names, port):
    """The words of one end; lines as they are said, not when there are enough of them."""
    words = [names.get(word, word) for word in line.split()]
    words = [word.replace("SERVER:COPY", f"{names['SERVER']}:{names['COPY']}") if "SERVER" in names else word for word in words]
    if words[0].startswith("ib_") and "-n" not in words:
        words[1:1] = ["-F", "-n", str(ITERATIONS)]
    # rcopy looks for options behind its two names only, perftest takes them anywhere.
    return ["stdbuf", "-oL", *words] + ([] if words[0] in WITHOUT_PORT else ["-p", str(port)])


def is_ready(row, server, port):
    if row.program == "udpong":
        return f":{port:04X} " in Path("/proc/net/udp").read_text(encoding="ascii")
    return server.says(row.ready) if row.ready else server.has_listener()


def run_row(row, what, number, directory):
    """Its result; raises Wrong, with the output of both ends."""
    port, names = FIRST_PORT + number, names_of(row, number, directory, what)
    deadline = time.monotonic() + row.limit
    endless = row.server.startswith(ENDLESS)
    ends = [Program(what["server"], number, command_of(row.server, names, port))]
    try:
        server = ends[0]
        server.wait_until(lambda: is_ready(row, server, port), "it listened", deadline)
        if "SERVER" in row.client:
            names["SERVER"] = address_of(row.link, what, row.family, server)
        words = command_of(row.client, names, port)
        ends += [Program(what["client"], number, words) for _ in range(row.clients)]
        for end in ends[1:]:
            end.end(deadline)
        if endless:
            server.kill(signal.SIGTERM)
        for end in ends[1:]:
            end.need_peace("client")
        server.end(min(deadline, time.monotonic() + 5))
        server.need_peace("server", stopped=endless)
        return judge(row, server, ends[1:], words, names)
    except Wrong as wrong:
        for end in ends:
            end.kill()
        raise Wrong(str(wrong), *(end.output for end in ends)) from None


def run_again_if_they_raced(row, what, number, directory):
    """Programs have races of their own, which they do not survive and the kernel's rdma_cm does not prevent.
    perftest -R connects twice, the second time without knowing whether its server listens again: after their last handshake both
    go on at once, and a server that has to wait for a processor then has not called rdma_listen when the request comes, which is
    refused (no such service). rping -s -P keeps the last connection request in one variable: of two that come at once it accepts
    the second one twice, and the first one never. rping closes the event channel in one thread while another, which has just
    acknowledged the last event, is about to wait on it: if it comes too late, the program ends with an error."""
    for repeated in range(REPEATS + 1):
        try:
            return run_row(row, what, number, directory) + (f", repeated {repeated} times" if repeated else "")
        except Wrong as wrong:
            raced = any(race.search(end) for word, race in RACES.items() if word in row.server for end in wrong.args[1:])
            if repeated == REPEATS or not raced:
                raise
    raise AssertionError


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("links")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--all", action="store_true", help="every program with every option on every link")
    parser.add_argument("--only", default="", help="rows that match this regular expression")
    arguments = parser.parse_args()
    with open(arguments.links, encoding="utf-8") as file:
        links = json.load(file)
    (arguments.directory / "file").write_bytes(os.urandom(3_000_001))
    rows = list(dict.fromkeys((whole_table if arguments.all else usual_table)(links)))
    rows = [row for row in rows if row.clients == 1 or not links[row.link].get("alone")]
    rows = [row for row in rows if re.search(arguments.only, f"{row.server} | {row.client} {row.family} {row.link}")]

    turns = defaultdict(threading.Lock)

    def one(row, number):
        """Those that would be in each other's way take turns."""
        what = links[row.link]
        with turns[what["alone"]] if what.get("alone") else turns[row.program] if row.program in WITHOUT_PORT else nullcontext():
            return run_again_if_they_raced(row, what, number, arguments.directory)

    print(f"{'server':42} {'client':48} {'':2} {'link':6} {'s':>5}  result")
    return run_table(rows, lambda row: f"{row.server:42} {row.client:48} {row.family} {row.link:6}", one)


if __name__ == "__main__":
    sys.exit(main())
