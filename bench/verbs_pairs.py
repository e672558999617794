# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of verbs programs over our library, and of UCX over TCP, as they are used today where there is no RDMA.

Each is two unmodified processes of Debian's packages, a server and a client, both on this machine."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import time

PORTS = itertools.count(22000)
LIMIT = 60  # seconds, of a run


class Failed(Exception):
    """The last words of the program that failed."""


def listening(port):
    """Whether a server listens: looked up, as a connection would be taken for the client's."""
    table = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True, check=True)
    return bool(table.stdout.strip())


def await_port(process, port):
    """False: it has ended, or takes too long."""
    until = time.monotonic() + LIMIT
    while not listening(port):
        if process.poll() is not None or time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def server(command, port, environment):
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        if not await_port(process, port):
            raise Failed((process.communicate(timeout=5)[0].strip() or "the server did not start").splitlines()[-1])
        yield process
        process.wait(LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def pair(command, port, prefixes, environments):
    """What the client printed."""
    with server(prefixes[0] + command, port, environments[0]):
        client = subprocess.run(prefixes[1] + command + ["127.0.0.1"], env=environments[1], capture_output=True,
                                text=True, timeout=LIMIT)
        if client.returncode != 0:
            raise Failed((client.stderr.strip() or client.stdout.strip() or "the client failed").splitlines()[-1])
        return client.stdout


@contextlib.contextmanager
def memif_pair(verbline):
    """How the two ends of a memif pair are run."""
    with tempfile.TemporaryDirectory() as directory:
        link = f"memif:{directory}/pair.sock"
        yield [[str(verbline), "run", "--link", link + role, "--ip", address, "--ns", "none", "--"]
               for role, address in ((",server", "10.98.0.1/24"), ("", "10.98.0.2/24"))]


@contextlib.contextmanager
def node(verbline, name, port, address):
    """A node that is ready; its name."""
    process = subprocess.Popen([str(verbline), "node", name, "--port", port, "--ip", address], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        if not process.stdout.readline().endswith("ready\n"):
            raise Failed("the node does not start")
        yield name
    finally:
        process.terminate()
        process.wait(LIMIT)
        process.stdout.close()


@contextlib.contextmanager
def two_of_a_node(verbline):
    """How two programs of one node are run. Nobody is at the other end of its port, which has room for any path MTU."""
    with (tempfile.TemporaryDirectory() as directory,
          node(verbline, f"bench-{os.getpid()}", f"memif:{directory}/wire.sock,server", "10.97.0.1/24") as name):
        yield [[str(verbline), "run", "--link", f"node:{name}", "--ns", "none", "--"]] * 2


def perftest(verbline, *command, over=memif_pair):
    """The columns of the result line, two processes over a memif pair or something else."""
    port = next(PORTS)
    with over(verbline) as prefixes:
        out = pair([*command, "-F", "-p", str(port)], port, prefixes, [None, None])
    lines = [line.split() for line in out.splitlines() if re.match(r" \d+ +\d+ ", line)]
    if not lines:
        raise Failed("perftest printed no result")
    return [float(column) for column in lines[-1]]


def ucx(*command):
    """The columns of the last line: iterations, percentile, average, overall; bandwidths and message rates."""
    port = next(PORTS)
    environment = os.environ | {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"}
    out = ucx_pair(["ucx_perftest", "-p", str(port)], ["-f", *command], port, environment)
    numbers = [line.split() for line in out.splitlines() if re.match(r"\s*(Final:)?\s*\d+(\s+[\d.]+){6,}", line)]
    if not numbers:
        raise Failed("ucx_perftest printed no result")
    return [float(column) for column in numbers[-1] if column != "Final:"]


def ucx_pair(common, command, port, environment):
    with server(common, port, environment):
        client = subprocess.run(common + ["127.0.0.1", *command], env=environment, capture_output=True, text=True,
                                timeout=LIMIT)
        if client.returncode != 0:
            raise Failed((client.stderr.strip() or "ucx_perftest failed").splitlines()[-1])
        return client.stdout


def latency(verbline, program, count, over=memif_pair):
    """Typical one-way time of 8 bytes, in microseconds."""
    return perftest(verbline, program, "-s", "8", "-n", str(count), over=over)[4]


def ucx_latency(count):
    """Median, as ours: one way, in microseconds."""
    return ucx("-t", "tag_lat", "-s", "8", "-n", str(count))[1]


def bandwidth(verbline, size, count, over=memif_pair, transport="RC"):
    """In MB/s, as perftest and UCX count them: 2^20 bytes."""
    return perftest(verbline, "ib_write_bw", "-s", str(size), "-n", str(count), "-m", "4096", "-c", transport, over=over)[3]


def start_on_node(verbline):
    """Milliseconds from the command to the end of a program that does nothing."""
    with two_of_a_node(verbline) as prefixes:
        began = time.monotonic()
        subprocess.run([*prefixes[0], "true"], check=True, timeout=LIMIT)
        return 1000 * (time.monotonic() - began)


def ucx_bandwidth(size, count):
    return ucx("-t", "tag_bw", "-s", str(size), "-n", str(count))[5]


def message_rate(verbline, count):
    """Millions of 8-byte WRITEs a second, sixteen to a doorbell."""
    return perftest(verbline, "ib_write_bw", "-s", "8", "-l", "16", "-n", str(count))[4]


def connections(verbline, count):
    """Connections a second by cmtime, two processes over a memif pair."""
    with tempfile.TemporaryDirectory() as directory:
        link = f"memif:{directory}/pair.sock"
        prefixes = [[str(verbline), "run", "--link", link + role, "--ip", address, "--ns", "none", "--", "cmtime"]
                    for role, address in ((",server", "10.98.0.1/24"), ("", "10.98.0.2/24"))]
        # It serves until it is ended.
        process = subprocess.Popen([*prefixes[0], "-c", str(count)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            await_listener(verbline, process)
            client = subprocess.run([*prefixes[1], "-s", "10.98.0.1", "-c", str(count)], capture_output=True, text=True,
                                    timeout=LIMIT)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = re.search(r"^\s*connect\s*:\s*([\d.]+)", client.stdout, re.MULTILINE)
    if client.returncode != 0 or not found:
        raise Failed((client.stderr.strip() or client.stdout.strip() or "cmtime failed").splitlines()[-1])
    return 1e6 / float(found[1])


def await_listener(verbline, process):
    until = time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < until:
        rows = json.loads(subprocess.run([str(verbline), "show", "cm", "--json"], capture_output=True, text=True,
                                         check=True).stdout)
        if any(row["program"].endswith(f"-{process.pid}") and row["state"] == "LISTEN" for row in rows):
            return
        time.sleep(0.02)
    raise Failed("cmtime does not listen")
