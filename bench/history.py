#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Keeps runs of bench/compare in a file, and says what became slower. Run by itself it judges the file's last run.

The file has a line for each run, a JSON object: when, commit, machine, rows as of `bench/compare --json`. Runs of other
machines (CPU, number of CPUs) are kept and not compared with."""

import argparse
import dataclasses
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REMEMBERED = 20  # runs that one is compared with, the latest


class Unreadable(Exception):
    """Why the file cannot be used, in one line with what to do."""


@dataclasses.dataclass(frozen=True)
class Change:
    """Of a row, in the figure by which it is judged: the ratio, which a busy machine changes least, or else ours.

    `better` is how many times as good it is as the median of the runs before; `noise` what it may differ by chance, as
    a part of it: the larger of the spreads within the runs and of that between the runs before."""

    name: str
    unit: str
    now: float
    before: float
    runs: int
    better: float
    noise: float

    @property
    def is_slower(self):
        return self.better < 1 - self.noise

    @property
    def is_faster(self):
        return self.better > 1 + self.noise

    def line(self):
        return (f"{self.name}: {self.now:.3g} {self.unit}, was {self.before:.3g} in {self.runs} "
                f"run{'s' * (self.runs > 1)}: {self.better:.2f} times as good, {100 * self.noise:.0f} % may be chance")


def machine():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        cpu = ""
    return {"cpu": cpu or platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release()}


def commit():
    """With `+` if something is changed; empty: not in a repository."""
    described = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "describe", "--always", "--dirty=+"], cwd=ROOT,
                               capture_output=True, text=True, check=False)
    return described.stdout.strip()


def new_run(rows):
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return {"when": now, "commit": commit(), "machine": machine(), "rows": rows}


def read(path):
    """The runs in the file, none if there is no file."""
    if not os.path.exists(path):
        return []
    runs = []
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                run = json.loads(line)
                if not isinstance(run, dict) or not {"when", "machine", "rows"} <= run.keys():
                    raise ValueError("no run")
                runs.append(run)
    except (ValueError, UnicodeDecodeError):
        raise Unreadable(f"{path}: line {number} is no run of bench/compare; remove it, or name another file") from None
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}; name another file") from None
    return runs


def append(path, run):
    """One write, so that a run which is interrupted leaves no part of a line."""
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}; name another file") from None


def judged(row):
    """The figure by which a row is judged, and whether less of it is better; None: the row did not run."""
    if row.get("ratio") is not None:
        return row["ratio"], False
    if row.get("ours") is not None:
        return row["ours"], row.get("less_is_better", True)
    return None


def same_machine(one, other):
    return all(one["machine"].get(fact) == other["machine"].get(fact) for fact in ("cpu", "cpus"))


def times_as_good(now, before, less_is_better):
    good, bad = (before, now) if less_is_better else (now, before)
    if bad == 0:
        return 1.0 if good == 0 else math.inf
    return good / bad


def change_of(row, before):
    """Of a row against the same of earlier runs; None: there is nothing to compare."""
    figure = judged(row)
    before = [other for other in before if judged(other)]
    if not figure or not before:
        return None
    now, less_is_better = figure
    earlier = [judged(other)[0] for other in before]
    usual = statistics.median(earlier)
    spread = statistics.median(other.get("spread_pct") or 0 for other in before)
    noise = max(row.get("spread_pct") or 0, spread) / 100
    noise = max(noise, (max(earlier) - min(earlier)) / usual if usual else 0)
    unit = "of the peer's" if row.get("ratio") is not None else row["unit"]
    return Change(row["name"], unit, now, usual, len(earlier), times_as_good(now, usual, less_is_better), noise)


def changes(runs):
    """Of the last run's rows against those of the runs before it on the same machine."""
    *earlier, last = runs
    earlier = [run for run in earlier if same_machine(run, last)][-REMEMBERED:]
    found = []
    for row in last["rows"]:
        before = [other for run in earlier for other in run["rows"] if other["name"] == row["name"]]
        if change := change_of(row, before):
            found.append(change)
    return found


def tell(runs):
    """Prints what differs beyond chance; how many rows became slower."""
    found = changes(runs)
    slower = [change for change in found if change.is_slower]
    faster = [change for change in found if change.is_faster]
    for what, some in (("slower", slower), ("faster", faster)):
        for change in some:
            print(f"{what}: {change.line()}")
    print(f"{len(found)} rows compared with earlier runs: {len(slower)} slower, {len(faster)} faster")
    return len(slower)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", metavar="FILE", help="as kept by bench/compare --history FILE")
    arguments = parser.parse_args()
    try:
        runs = read(arguments.file)
    except Unreadable as reason:
        parser.error(str(reason))
    if not runs:
        parser.error(f"{arguments.file} has no run; bench/compare --history {arguments.file} adds one")
    return 1 if tell(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
