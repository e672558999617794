# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a verbline instance, for dpdk-telemetry-exporter.py (DPDK 23.11 and newer)."""


def info():
    return {
        "counter": ("What verbline counts, discards by their reason among them.", "counter"),
    }


def metrics(sock):
    out = []
    while True:
        # Rows are keyed by their number; an empty page ends the table.
        page = sock.cmd("/verbline/counters", len(out))
        if not page:
            return out
        for row in page.values():
            out.append(("counter", row["value"], {"owner": row["owner"], "name": row["name"]}))
