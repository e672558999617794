# SPDX-License-Identifier: BSD-3-Clause
"""Latency on a machine that is busy: pairs of programs beside processes that compute, ours over a hub, TCP on loopback.

Ours and TCP's take turns, many short runs of each, so that both meet the same machine; medians are compared."""

import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys

import verbs_pairs

TURNS = 5
MESSAGES = 10_000
SIZE = "64"


@contextlib.contextmanager
def processes(commands):
    """Started in sessions of their own: the scheduler shares CPUs among sessions first (autogroup)."""
    started = [subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for command in commands]
    try:
        yield started
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# Runs until its parent process has ended, however that ended.
COMPUTE = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(1_000_000): pass"


def computing(count):
    """Compute-bound processes, each with its nice value of 0."""
    return processes([[sys.executable, "-c", COMPUTE]] * count)


@contextlib.contextmanager
def hub(verbline):
    """The name of a hub of our own."""
    name = f"bench-{os.getpid()}"
    process = subprocess.Popen([str(verbline), "hub", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        if "ready" not in (line := process.stdout.readline()):
            raise verbs_pairs.Failed(line.strip() or "no hub")
        yield name
    finally:
        process.terminate()
        process.communicate()


def client(command):
    """What it prints. In a session of its own, as its server."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=verbs_pairs.LIMIT, start_new_session=True)
    if done.returncode != 0:
        raise verbs_pairs.Failed((done.stderr.strip() or done.stdout.strip() or f"{command[0]} failed").splitlines()[-1])
    return done.stdout


def number(pattern, printed):
    found = re.search(pattern, printed, re.MULTILINE)
    if not found:
        raise verbs_pairs.Failed((printed.strip() or "no figures").splitlines()[-1])
    return float(found[1])


def tcp_latency():
    """Microseconds a message, on average: half of a round trip, as ours."""
    port = next(verbs_pairs.PORTS)
    at = ["--tcp", "-i", "127.0.0.1", "-p", str(port)]
    with processes([["sockperf", "server", *at]]) as (server,):
        verbs_pairs.await_port(server, port)
        # Its colours are of no use here.
        printed = re.sub(r"\x1b\[[0-9;]*m", "", client(["sockperf", "ping-pong", *at, "-m", SIZE, "-t", "1"]))
    return number(r"Summary: Latency is ([\d.]+)", printed)


def on_hub(verbline, name, host, *command):
    return [str(verbline), "run", "--link", f"hub:{name}", "--ip", f"10.99.0.{host}/16", "--ns", "none", "--", *command]


def rstream_latency(verbline, name):
    command = ["rstream", "-S", SIZE, "-C", "1", "-I", str(MESSAGES)]
    with processes([on_hub(verbline, name, 1, *command)]) as (server,):
        verbs_pairs.await_listener(verbline, server)
        return number(r"^custom .* ([\d.]+)$", client(on_hub(verbline, name, 2, *command, "-s", "10.99.0.1")))


def send_latency(verbline, name):
    port = next(verbs_pairs.PORTS)
    command = ["ib_send_lat", "-s", SIZE, "-n", str(MESSAGES), "-F", "-p", str(port)]
    with processes([on_hub(verbline, name, 1, *command)]) as (server,):
        verbs_pairs.await_port(server, port)
        printed = client(on_hub(verbline, name, 2, *command, "127.0.0.1"))
    # bytes, iterations, t_min, t_max, t_typical, t_avg
    return number(r"^ \d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)", printed)


def beside(verbline, busy, measure):
    """Ours and TCP's microseconds a message beside so many compute-bound processes."""
    with hub(verbline) as name, computing(busy):
        turns = [(measure(verbline, name), tcp_latency()) for _ in range(TURNS)]
    return tuple(statistics.median(side) for side in zip(*turns))
