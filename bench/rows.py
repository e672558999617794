# SPDX-License-Identifier: BSD-3-Clause
"""The rows of bench/compare. A row measures us and a peer, or a limit, once per round; it raises CannotRun to say why not."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


class CannotRun(Exception):
    """The reason, as the table prints it."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    benchmark_seconds: float
    network_rounds: int


@dataclasses.dataclass(frozen=True)
class Row:
    """`measure` returns ours and the peer's figure of one round; without a peer, ours and None.

    The ratio says how many times as good as the peer, or as the limit allows, we are; the goal is the least it may be."""

    name: str
    unit: str
    peer: str
    goal: float | None
    measure: Callable[[Effort], tuple[float, float | None]]
    less_is_better: bool = True
    over_network: bool = False  # takes tens of seconds a round

    def rounds(self, effort):
        return effort.network_rounds if self.over_network else effort.rounds

    def ratio(self, ours, peer):
        return peer / ours if self.less_is_better else ours / peer


def run(*command):
    """Standard output; CannotRun with the last words of a command that fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT, timeout=900)
    if done.returncode != 0:
        raise CannotRun((done.stderr.strip() or done.stdout.strip() or f"{command[0]} failed").splitlines()[-1])
    return done.stdout


def need_root():
    if os.geteuid() != 0:
        raise CannotRun("needs root for network namespaces: run it with sudo")


@functools.cache
def set_up():
    """The release build, with benchmarks."""
    if not (BUILD / "build.ninja").exists():
        run("meson", "setup", BUILD, "--buildtype=release")
    run("meson", "configure", BUILD, "-Dbench=true")


@functools.cache
def built(program):
    """The path of a benchmark, built."""
    set_up()
    run("ninja", "-C", BUILD, f"bench/{program}")
    return BUILD / "bench" / program


def nanoseconds(effort, program, benchmark, *, before=()):
    """What one item of a Google Benchmark case takes; one iteration, if it counts no items."""
    report = json.loads(
        run(*before, built(program), f"--benchmark_filter=^{benchmark}$", "--benchmark_format=json",
            f"--benchmark_min_time={effort.benchmark_seconds}")
    )
    case = report["benchmarks"][0]
    if case.get("error_occurred"):
        raise CannotRun(case["error_message"])
    if "items_per_second" in case:
        return 1e9 / case["items_per_second"]
    return case["real_time"] * {"ns": 1, "us": 1e3, "ms": 1e6}[case["time_unit"]]


def icrc(size):
    def measure(effort):
        return (nanoseconds(effort, "bench_wire_crc", f"icrc/{size}"),
                nanoseconds(effort, "bench_wire_crc", f"bare_crc32/{size}"))

    return Row(f"icrc {size} B", "ns", "ISA-L crc32_gzip_refl", 0.8, measure)


def hit(effort):
    return nanoseconds(effort, "bench_path_cache", "path_cache_hit")


def sa_query(effort):
    need_root()
    return nanoseconds(effort, "bench_sa_query", "path_query/real_time", before=["apps/testbed/with_fabric"])


def alone(name, program, benchmark):
    """A figure to watch, without a peer and without a goal."""
    return Row(name, "ns", "", None, lambda effort: (nanoseconds(effort, program, benchmark), None))


def quickstart():
    """The results of one run."""
    need_root()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run("apps/quickstart.sh", "--json", file.name)
        return json.load(file)


class OneQuickstart:
    """A run of the quickstart shows several figures: each round of each row takes those of the same run."""

    def __init__(self):
        self.runs = []
        self.taken = {}

    def next_for(self, row):
        number = self.taken[row] = self.taken.get(row, -1) + 1
        if number == len(self.runs):
            self.runs.append(quickstart())
        return self.runs[number]


def quickstart_row(runs, name, unit, peer, goal, figures, less_is_better):
    return Row(name, unit, peer, goal, lambda _: figures(runs.next_for(name)), less_is_better, over_network=True)


def all_rows():
    runs = OneQuickstart()
    return [
        *(icrc(size) for size in (64, 128, 256, 512, 1024, 2048, 4096)),
        Row("path_cache_hit_ns", "ns", "limit", 1, lambda effort: (hit(effort), 150)),
        Row("path_cache against SA query", "ns", "PathRecord GET to OpenSM", 200, lambda effort: (hit(effort), sa_query(effort))),
        alone("ipoib_encapsulate 2044 B", "bench_ipoib", "ipoib_encapsulate/2044"),
        alone("ipoib_decapsulate 2044 B", "bench_ipoib", "ipoib_decapsulate/2044"),
        alone("fib and neighbour lookup", "bench_fib", "fib_and_neighbour_lookup"),
        quickstart_row(runs, "tcp lan to ib-a", "Gbit/s", "kernel router, three namespaces", 0.25,
                       lambda r: (r["tcp_gbps"], r["kernel_tcp_gbps"]), less_is_better=False),
        quickstart_row(runs, "gateway memory", "MB", "limit", 1, lambda r: (r["gateway_rss_mb"], 300), less_is_better=True),
    ]
