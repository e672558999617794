# SPDX-License-Identifier: BSD-3-Clause
"""What the tables of verbs programs share: a program under `verbline run`, what may be wrong with it, and the table.

An end of a link is {"namespace": NAME, "run": [arguments of verbline run]}; in these {} stands for the number of the row, and
without a namespace it is the test's own.
Environment: VERBLINE, the program."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VERBLINE = os.environ["VERBLINE"]
# Where programs that have opened the rdma_cm device show their tables.
PROGRAMS = Path("/run/verbline/programs")
# What a program complains of without ending.
COMPLAINT = re.compile(r"invalid data|Unable to|Couldn't|Failed|failed|Error|error|Completion with|mismatch|bogus|^verbline: .*$", re.MULTILINE)
LISTENING = ("0A", "07")  # TCP_LISTEN; what UDP calls bound
POLL_SECONDS = 0.02


class Wrong(Exception):
    """What is wrong with a row; then the output of its ends."""


class Program:
    """One end of a row, under verbline run. `verbline run` becomes the program: the process is the same."""

    def __init__(self, end, number, words):
        run = [word.replace("{}", str(number)) for word in end["run"]]
        inside = ["ip", "netns", "exec", end["namespace"]] if "namespace" in end else []
        command = [*inside, VERBLINE, "run", *run, "--", *words]
        self.file = tempfile.TemporaryFile()  # so that a program that says much need not wait for a reader
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.file, stderr=subprocess.STDOUT, start_new_session=True
        )

    @property
    def output(self):
        """What it has said so far. The offset is the program's: nothing moves it."""
        descriptor = self.file.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")

    def listens(self, port, tables=("tcp", "tcp6")):
        """Somebody in its network namespace, on a socket of the kernel's."""
        try:
            for table in tables:
                with open(f"/proc/{self.process.pid}/net/{table}", encoding="ascii") as file:
                    for line in file:
                        fields = line.split()
                        if fields[1].endswith(f":{port:04X}") and fields[3] in LISTENING:
                            return True
        except OSError:  # it has ended
            pass
        return False

    def connections(self):
        """The rows of its table of rdma_cm's ids; none before it has opened the device."""
        rows = {}
        for path in PROGRAMS.glob(f"*-{self.process.pid}"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.settimeout(2)
                try:
                    client.connect(str(path))
                    client.recv(65536)
                    while True:
                        client.send(f"/verbline/cm,{len(rows)}".encode())
                        page = json.loads(client.recv(65536)).get("/verbline/cm") or {}
                        rows.update(page)
                        if not page:
                            break
                except OSError:  # it has not begun, or has ended
                    pass
        return list(rows.values())

    def has_listener(self):
        """An id of rdma_cm."""
        return any("listen" in str(row["state"]).lower() for row in self.connections())

    def says(self, pattern):
        return re.search(pattern, self.output, re.MULTILINE) is not None

    def wait_until(self, ready, what, deadline):
        """`ready`, a function, is true; or the program has ended without."""
        while not ready():
            if self.process.poll() is not None:
                raise Wrong(f"it ended with status {self.process.returncode} before {what}")
            if time.monotonic() > deadline:
                raise Wrong(f"it waited in vain: {what}")
            time.sleep(POLL_SECONDS)

    def end(self, deadline):
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Wrong("no end in time") from None

    def kill(self, signal_number=signal.SIGKILL):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal_number)
        self.process.wait()

    def need_peace(self, name, unless=None, stopped=False):
        """It ended well (a server that never ends: by the SIGTERM it was sent) and complained of nothing; `unless`: a pattern
        of what is no complaint."""
        status = self.process.returncode
        if status != 0 and not (stopped and status == -signal.SIGTERM):
            raise Wrong(f"the {name} ended with status {status}")
        said = unless.sub("", self.output) if unless else self.output
        complaint = COMPLAINT.search(said)
        if complaint:
            raise Wrong(f"the {name} says: {said[complaint.start():].splitlines()[0]}")


def option(words, name, default=None):
    """What follows the option in a command line."""
    return words[words.index(name) + 1] if name in words else default


def judge_perftest(program, words, iterations, output):
    """What perftest's lines of results say (size, iterations, ...) if it is what its arguments asked for."""
    results = re.findall(r"^ *(\d+) +(\d+) +[\d.]+.*$", output, re.MULTILINE)
    if not results:
        raise Wrong("no results")
    if option(words, "-D"):
        return f"{int(results[0][1])} iterations"
    wanted = int(option(words, "-n", iterations)) * (int(option(words, "-q", 1)) if "_bw" in program else 1)
    for size, done in results:
        if int(done) != wanted:
            raise Wrong(f"{done} iterations of {size} bytes instead of {wanted}")
    if "-a" in words and len(results) < 10:
        raise Wrong(f"only {len(results)} sizes")
    sizes = f"{len(results)} sizes, {results[0][0]} to {results[-1][0]} bytes" if len(results) > 1 else f"{results[0][0]} bytes"
    return f"{wanted} iterations, {sizes}"


def run_table(rows, describe, run_row):
    """Runs rows, as many at a time as there are CPUs, prints a line for each: describe(row), seconds, and what
    run_row(row, number) returns, or what is Wrong. The script's exit status."""

    def attempt(number):
        began, outputs = time.monotonic(), ()
        try:
            result = run_row(rows[number], number)
        except Wrong as wrong:
            result, outputs = f"NOT so: {wrong.args[0]}", wrong.args[1:]
        return rows[number], time.monotonic() - began, result, outputs

    failed = 0
    # Each has two programs that poll, but most of its time is theirs to start.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as executor:
        for row, seconds, result, outputs in executor.map(attempt, range(len(rows))):
            print(f"{describe(row)} {seconds:5.1f}  {result}", flush=True)
            failed += result.startswith("NOT so")
            for output in outputs:
                print("    | " + "\n    | ".join(output.splitlines()[-8:]), flush=True)
    print(f"{len(rows) - failed} of {len(rows)} rows passed")
    return 1 if failed or not rows else 0
