#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""verbs_programs.py LINKS [--all]: runs unmodified verbs programs by `verbline run` over links and prints one table.

LINKS is a JSON file: {link: {"server": ENDPOINT, "client": ENDPOINT, "address": where the server's TCP port is, "gids": how many}},
ENDPOINT {"namespace": NAME, "run": [arguments of verbline run]}. In these {} stands for the number of the row.

A row passes if both programs end with status 0 within the time limit, say that they did as many iterations as they were told
to, and complain about nothing; one of a program that runs alone, if it says what it should. Environment: VERBLINE, the program."""

import argparse
import json
import re
import sys
import time
from dataclasses import dataclass

from verbs_pair import Program, Wrong, judge_perftest, option, run_table

FIRST_PORT = 20500
AGAIN = 1000  # to the number of a row that is run once more: its port is another
ITERATIONS = 100
PINGPONGS = ("rc", "uc", "ud", "srq", "xsrq")
# UCX looks for rdma_cm, says so, and does without.
NO_COMPLAINT = re.compile(r"^.*rdma_create_event_channel failed.*$", re.MULTILINE)
# Programs that run alone, and what they must say.
ALONE = {
    ("ibv_devices", ""): r"verbline0\s+[0-9a-f]{16}$",
    ("ibv_devinfo", "-v"): r"state:\s+PORT_ACTIVE \(4\)$",
    ("ucx_info", "-d"): r"Device: verbline0:1$",
}
UCX = "ucx_perftest"
UCX_SETTINGS = ("UCX_NET_DEVICES=verbline0:1", "UCX_TLS=rc,self")


@dataclass(frozen=True)
class Row:
    link: str
    program: str
    arguments: str
    limit: float = 20.0

    @property
    def words(self):
        return self.arguments.split()

    def option(self, name, default=None):
        return option(self.words, name, default)


# --- the table --------------------------------------------------------------------------------------------------------------


def pingpong_options(kind):
    """Each by itself, and all at once; but not -e with -t, where ibv_rc_pingpong calls it an error if the completion of an event
    has been polled already."""
    return {"rc": ["", "-e", "-t", "-N", "-c", "-t -N", "-e -N -c"], "xsrq": ["", "-e"]}.get(kind, ["", "-e", "-c", "-e -c"])


def pingpong(kind):
    return f"ibv_{kind}_pingpong"


def transports(verb):
    """Those with which perftest knows the operation."""
    return {"send": ("RC", "UC", "UD", "XRC"), "write": ("RC", "UC", "XRC")}.get(verb, ("RC", "XRC"))


def bandwidth_options(verb, transport):
    options = ["", "-b", "-q 16", "-l 16 -n 160", "-N", "--use_old_post_send"]
    if verb == "send":
        options.append("-e")
    if verb == "send" and transport in ("RC", "UD"):
        options.append("--use-srq")
    if verb in ("send", "write"):
        options.append("-s 64 -I 64")
    if verb != "atomic" and transport != "UD":
        options += ["-s 2", "-s 8388608 -n 20", "-a -n 20"]
    if verb == "send" and transport == "UD":
        options += ["-s 2", "-a -n 20"]
    return options


def latency_options(verb, transport):
    options = ["", "--use_old_post_send"]
    if verb in ("send", "read", "atomic"):
        options.append("-e")
    if verb in ("send", "write"):
        options.append("-I 0")
    if verb == "send" and transport == "RC":
        options.append("--use-srq")
    if verb != "atomic":
        options.append("-a -n 20")
    return options


def every_link(link):
    for program, arguments in ALONE:
        yield Row(link, program, arguments)
    for test in ("tag_lat", "ucp_put_bw -s 65536"):
        yield Row(link, UCX, f"-t {test}")


def whole_table(links):
    for link, what in links.items():
        yield from every_link(link)
        for kind in PINGPONGS:
            for options in pingpong_options(kind):
                yield Row(link, pingpong(kind), f"-g 3 {options}".strip())
            for gid in range(what["gids"]):
                yield Row(link, pingpong(kind), f"-g {gid}")
        for verb in ("send", "write", "read", "atomic"):
            for transport in transports(verb):
                for options in bandwidth_options(verb, transport):
                    yield Row(link, f"ib_{verb}_bw", f"-c {transport} {options}".strip())
                for options in latency_options(verb, transport):
                    yield Row(link, f"ib_{verb}_lat", f"-c {transport} {options}".strip())
            yield Row(link, f"ib_{verb}_bw", "-D 1 -f 0")


def usual_table(links):
    """Everything once, most of it on the first link; each program on each link."""
    first = next(iter(links))
    for link, what in links.items():
        yield from every_link(link)
        on_first = link == first
        for kind in PINGPONGS:
            for options in pingpong_options(kind) if on_first else pingpong_options(kind)[-1:]:
                yield Row(link, pingpong(kind), f"-g 3 {options}".strip())
        for gid in range(what["gids"]):
            yield Row(link, pingpong("rc"), f"-g {gid} -n 100")
            if on_first:
                yield Row(link, pingpong("ud"), f"-g {gid} -n 100")
        for verb in ("send", "write", "read", "atomic"):
            for transport in transports(verb) if on_first else ("RC",):
                yield Row(link, f"ib_{verb}_bw", f"-c {transport}")
                yield Row(link, f"ib_{verb}_lat", f"-c {transport}")
    for row in (
        "ib_send_bw -e", "ib_send_bw -b -a -n 20", "ib_send_bw -q 16", "ib_send_bw --use-srq -q 4", "ib_send_bw -s 64 -I 64",
        "ib_send_bw -l 16 -s 64 -n 160", "ib_send_bw -N", "ib_send_bw --use_old_post_send", "ib_send_bw -c UD -e -q 16",
        "ib_send_bw -c UD -a -n 20", "ib_send_lat -e", "ib_send_lat -a -n 20", "ib_send_lat -c UD --use-srq",
        "ib_write_bw -a -n 20", "ib_write_bw -b -q 16", "ib_write_bw -s 64 -I 64 -l 16 -n 160", "ib_write_bw -D 1 -f 0",
        "ib_write_bw --use_old_post_send -s 8388608 -n 20", "ib_write_lat -s 8388608 -n 20", "ib_write_lat --use_old_post_send -I 0",
        "ib_read_bw -s 8388608 -n 20", "ib_read_bw -b -q 16 -o 4", "ib_read_lat -e -s 2", "ib_read_lat -s 8388608 -n 20",
        "ib_atomic_bw -q 16", "ib_atomic_bw -A CMP_AND_SWAP -b", "ib_atomic_lat -A CMP_AND_SWAP -e",
    ):
        program, _, arguments = row.partition(" ")
        yield Row(first, program, arguments)


# --- one row ----------------------------------------------------------------------------------------------------------------


def iterated(row):
    """The arguments with the number of iterations, where they say nothing else."""
    counted = row.option("-n") or row.option("-D") or row.program == pingpong("xsrq")
    return row.words + ([] if counted else ["-n", str(ITERATIONS)])


def judge_pingpong(row, output):
    if row.program == pingpong("xsrq"):  # it counts inside
        if not re.search("^success$", output, re.MULTILINE):
            raise Wrong("no success")
        return "success"
    found = re.search(r"^(\d+) iters in ", output, re.MULTILINE)
    wanted = int(row.option("-n", ITERATIONS))
    if not found or int(found[1]) != wanted:
        raise Wrong(f"{found[1] if found else 'no'} iterations instead of {wanted}")
    return f"{wanted} iterations" + (", data as sent" if "-c" in row.words else "")


def judge_ucx(row, output):
    found = re.search(r"^Final: +(\d+) ", output, re.MULTILINE)
    if not found or int(found[1]) != ITERATIONS:
        raise Wrong(f"{found[1] if found else 'no'} iterations instead of {ITERATIONS}")
    return f"{ITERATIONS} iterations"


def run_alone(row, what, number):
    program = Program(what["server"], number, [row.program, *row.words])
    try:
        program.end(time.monotonic() + row.limit)
    except Wrong as wrong:
        program.kill()
        raise Wrong(str(wrong), program.output) from None
    said = re.search("^.*" + ALONE[row.program, row.arguments], program.output, re.MULTILINE)
    if program.process.returncode != 0 or not said:
        raise Wrong(f"status {program.process.returncode}, or not what it should say", program.output)
    return " ".join(said[0].strip(" #\t").split())


def run_row(row, what, number):
    """Its result; raises Wrong, with the output of both ends."""
    if (row.program, row.arguments) in ALONE:
        return run_alone(row, what, number)
    port = FIRST_PORT + number
    words = [row.program, *iterated(row), "-p", str(port)]
    server_words = words
    if row.program == UCX:
        words = ["env", *UCX_SETTINGS, *words, "-w", "10"]
        server_words = ["env", *UCX_SETTINGS, UCX, "-p", str(port)]
    deadline = time.monotonic() + row.limit * (2 if "-a" in row.words else 1)
    ends = [Program(what["server"], number, server_words)]
    try:
        ends[0].wait_until(lambda: ends[0].listens(port), "it listened", deadline)
        ends.append(Program(what["client"], number, [*words, what["address"]]))
        for end in reversed(ends):
            end.end(deadline)
    except Wrong as wrong:
        for end in ends:
            end.kill()
        raise Wrong(str(wrong), *(end.output for end in ends)) from None
    try:
        for name, end in zip(("server", "client"), ends):
            end.need_peace(name, NO_COMPLAINT)
        if row.program.startswith("ib_"):
            return judge_perftest(row.program, row.words, ITERATIONS, ends[1].output)
        return (judge_pingpong if row.program.startswith("ibv_") else judge_ucx)(row, ends[1].output)
    except Wrong as wrong:
        raise Wrong(str(wrong), *(end.output for end in ends)) from None


def run_again_without_clock(row, what, number):
    """perftest first fits the CPU's counter to the time of day; where other processes disturb that too much, it prints no report
    (4.5: "Correlation coefficient ..."). Such a row is run once more, and says so."""
    try:
        return run_row(row, what, number)
    except Wrong as wrong:
        if not any("Correlation coefficient r^2" in output for output in wrong.args[1:]):
            raise
    return run_row(row, what, number + AGAIN) + ", run again: perftest could not calibrate its clock"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("links")
    parser.add_argument("--all", action="store_true", help="every program with every option on every link")
    parser.add_argument("--only", default="", help="rows that match this regular expression")
    arguments = parser.parse_args()
    with open(arguments.links, encoding="utf-8") as file:
        links = json.load(file)
    rows = list(dict.fromkeys((whole_table if arguments.all else usual_table)(links)))
    rows = [row for row in rows if re.search(arguments.only, f"{row.program} {row.arguments} {row.link}")]
    print(f"{'program':18} {'arguments':32} {'link':6} {'s':>5}  result")
    return run_table(
        rows,
        lambda row: f"{row.program:18} {row.arguments:32} {row.link:6}",
        lambda row, number: run_again_without_clock(row, links[row.link], number),
    )


if __name__ == "__main__":
    sys.exit(main())
