# SPDX-License-Identifier: BSD-3-Clause
"""What this machine allows at best, beside the rows of bench/compare whose peer is not that already.

A limit leaves out what its row is about: a port without a router behind it, the CRC alone, the copy alone. So a row
cannot reach it, and how much of it is reached says what is left to win."""

import dataclasses
import os

import l3fwd
import testpmd
from measuring import CannotRun, Limit, built, case, nanoseconds


def one_crc(size):
    return Limit(f"ISA-L's CRC-32 of {size} B", lambda effort: nanoseconds(effort, "bench_wire_crc", f"bare_crc32/{size}"))


def benchmark_devices():
    return Limit("the benchmark's devices, back to back", lambda effort: nanoseconds(effort, "bench_router", "source_and_sink"))


def port_alone(flows):
    """Nothing is looked at between receive and transmit."""
    def measure(_):
        try:
            return testpmd.pcap_rate("io", flows)
        except l3fwd.Failed as reason:
            raise CannotRun(reason) from reason

    return Limit("testpmd io on that port", measure)


def two_crcs(effort):
    """Nanoseconds for the ICRC of a small message at both ends."""
    return 2 * nanoseconds(effort, "bench_link", "icrc_alone/roce_v2_ipv4/64")


def on_cores(work, cores, rate):
    """`rate` is that of one core, which does the work of both ends; two processes have a core each."""
    return Limit(f"{work}, on {cores} core{'s' * (cores > 1)}", lambda effort: cores * rate(effort))


def crcs_of_messages(cores):
    return on_cores("the ICRCs of both ends alone", cores, lambda effort: 1e3 / two_crcs(effort))


def copies_and_crcs(cores):
    """MB/s, of 2^20 bytes."""
    return on_cores("a copy and ISA-L's CRC-32 per end", cores,
                    lambda effort: case(effort, "bench_rdma", "limit_copy_crc/64")["bytes_per_second"] / 2**20)


def by_row():
    both = min(2, len(os.sched_getaffinity(0)))
    return {"ipoib_encapsulate 2044 B": one_crc(2048),
            "ipoib_decapsulate 2044 B": one_crc(2048),
            "packet routed to Ethernet": benchmark_devices(),
            "packet routed to IPoIB": benchmark_devices(),
            "Ethernet forwarding, 1 flow, l3fwd": port_alone(1),
            "Ethernet forwarding, 10,000 flows, l3fwd": port_alone(10_000),
            "roce v2 seal and open 64 B": Limit("the ICRCs of both alone", two_crcs),
            **{f"{operation} 64 B": crcs_of_messages(1) for operation in ("rc_write", "rc_send", "ud_send")},
            "ib_write_bw 64 KiB": copies_and_crcs(both),
            "ib_write_bw 1 MiB": copies_and_crcs(both),
            "ib_write_bw 8 B, -l 16": crcs_of_messages(both)}


def attached(rows):
    """The rows, those that have a limit with it."""
    found = by_row()
    unknown = found.keys() - {row.name for row in rows}
    assert not unknown, f"limits of rows that do not exist: {unknown}"
    return [dataclasses.replace(row, limit=found.get(row.name)) for row in rows]
