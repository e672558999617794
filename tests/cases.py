#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""cases.py BUILD: one line per test case of the last `meson test`: status, name and what it said, separated by tabs.

Cases are in the JUnit file, gathered from the GoogleTest programs. A program that died or leaked without a failed case is a
failed case of its own: only meson's log knows about it."""

import json
import pathlib
import sys
import xml.etree.ElementTree


def case_result(case):
    """The status of a case, and what it said about it."""
    for tag, status in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        element = case.find(tag)
        if element is not None:
            return status, element.get("message") or element.text or ""
    return "passed", ""


def gathered(junit):
    """program -> [(status, case, text)] of the programs that lived to tell: their suites are called PROJECT.PROGRAM.SUITE."""
    result = {}
    for suite in xml.etree.ElementTree.parse(junit).iter("testsuite"):
        _, _, name = suite.get("name").partition(".")
        program, _, suite_name = name.partition(".")
        if suite_name:
            cases = [(*case_result(case), f"{suite_name}.{case.get('name')}") for case in suite.iter("testcase")]
            result.setdefault(program, []).extend(cases)
    return result


def main():
    logs = pathlib.Path(sys.argv[1], "meson-logs")
    cases = gathered(logs / "testlog.junit.xml")
    for line in (logs / "testlog.json").read_text().splitlines():
        program = json.loads(line)
        found = cases.get(program["name"], [])
        results = [(status, f"{program['name']} {case}", text) for status, text, case in found]
        if program["result"] not in ("OK", "SKIP") and not any(status == "failed" for status, _, _ in results):
            last_words = (program.get("stdout", "") + program.get("stderr", "")).splitlines()[-60:]
            results.append(("failed", f"{program['name']} {program['result'].lower()}", "\n".join(last_words)))
        for status, name, text in results:
            print(status, name, text.strip().replace("\\", "\\\\").replace("\t", " ").replace("\n", "\\n"), sep="\t")


main()
