# SPDX-License-Identifier: BSD-3-Clause
"""What rows and limits are made of: a row of bench/compare, and how programs of the build are run and read."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
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
class Limit:
    """The best that this machine allows, whoever programs it: in the unit of its row, measured in the same round."""

    name: str
    measure: Callable[[Effort], float]


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
    limit: Limit | None = None  # beside the peer

    def rounds(self, effort):
        return effort.network_rounds if self.over_network else effort.rounds

    def ratio(self, ours, peer):
        if ours == peer:  # nothing, as it should be nothing
            return 1.0
        return peer / ours if self.less_is_better else ours / peer


def run(*command, may_fail=False):
    """Standard output; CannotRun with the last words of a command that fails, unless it may."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT, timeout=900)
    if done.returncode != 0 and not may_fail:
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
    """The path of a program in the build directory, built."""
    set_up()
    run("ninja", "-C", BUILD, program)
    return BUILD / program


def case(effort, program, benchmark, *, before=()):
    """What a Google Benchmark case reports."""
    report = run(*before, built(f"bench/{program}"), f"--benchmark_filter=^{benchmark}$", "--benchmark_format=json",
                 f"--benchmark_min_time={effort.benchmark_seconds}")
    # Without a case that matches, Google Benchmark writes no report.
    cases = json.loads(report)["benchmarks"] if report.strip() else []
    if not cases:
        raise CannotRun(f"{program} has no case {benchmark} on this machine")
    found = cases[0]
    if found.get("error_occurred"):
        raise CannotRun(found["error_message"])
    return found


def nanoseconds(effort, program, benchmark, *, before=()):
    """What one item takes; one iteration, if the case counts no items."""
    found = case(effort, program, benchmark, before=before)
    if "items_per_second" in found:
        return 1e9 / found["items_per_second"]
    # Of a thread that only computes, the time that it had a core for: others' load is not ours.
    time = found["real_time" if benchmark.endswith("/real_time") else "cpu_time"]
    return time * {"ns": 1, "us": 1e3, "ms": 1e6}[found["time_unit"]]
