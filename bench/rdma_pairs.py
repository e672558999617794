# SPDX-License-Identifier: BSD-3-Clause
"""`verbline bench rdma` and perftest on the same kind of link: two processes each, on a memif pair of their own."""

import json
import re
import subprocess
import tempfile

import verbs_pairs

COLUMNS = {"BW_average": 3, "t_typical": 4}  # of perftest's line


def perftest(verbline, figure, *command):
    return verbs_pairs.perftest(verbline, *command)[COLUMNS[figure]]


def ours(verbline, figure, *arguments):
    with tempfile.TemporaryDirectory() as directory:
        link = f"memif:{directory}/pair.sock"
        command = [str(verbline), "bench", "rdma"]
        server = subprocess.Popen([*command, f"{link},server", "--ip", "10.98.0.1/24"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        try:
            if not any(re.search(": ready for ", line) for line in server.stderr):
                raise verbs_pairs.Failed("the server of bench rdma does not start")
            client = subprocess.run([*command, link, "10.98.0.1", "--ip", "10.98.0.2/24", "--json", *arguments],
                                    capture_output=True, text=True, timeout=verbs_pairs.LIMIT)
            if client.returncode != 0:
                raise verbs_pairs.Failed(client.stderr.strip().splitlines()[-1])
            server.wait(verbs_pairs.LIMIT)
        finally:
            server.kill()
            server.wait()
            server.stderr.close()
        return json.loads(client.stdout)["results"][figure]
