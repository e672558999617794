#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py PLACES REQUESTS ANSWERS SECONDS SEED: transfers by chance for so long, and what becomes of them; then a summary.

PLACES is a JSON file made by the test `soak`: links with ends as in verbs_pair.py, the gateway's servers, processes that must not
grow. REQUESTS and ANSWERS are FIFOs by which that script kills and starts what it has started. What a worker does next, and what is
done to it, follows from the seed; when, from the machine.
Environment: VERBLINE, the program."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

from verbs_pair import VERBLINE, Program, Wrong, judge_perftest

# Seconds, of a transfer: the machine may be busy; and a program whose peer has ended before its DREP arrived repeats the DREQ 15 times,
# every 4.3 s, for the peer's connection manager is gone with it.
LIMIT = 150
AFTER_A_KILL = 5  # for the peer to notice; a program that only waits to receive never does
WORKERS = 3
FIRST_PORT = 23000
GROWTH_KB = 8192

RELIABLE = (
    "ibv_rc_pingpong -g 3 -n 500 -c", "ibv_rc_pingpong -g 3 -n 500 -c -e", "ibv_srq_pingpong -g 3 -n 500 -c",
    "ibv_xsrq_pingpong -g 3", "ib_send_bw -F -x 3 -n 200", "ib_send_bw -F -x 3 -n 200 -c XRC",
    "ib_write_bw -F -x 3 -n 200 -q 4 -s 4096", "ib_read_bw -F -x 3 -n 200", "ib_atomic_lat -F -x 3 -n 200",
    "ib_write_lat -F -x 3 -n 200", "ib_send_lat -F -x 3 -n 200",
)
# perftest 4.5 has one completion channel for both queues, and takes the next event for that of its SEND: where the peer's answer may
# overtake the ACK, or the ACK be lost, it polls in vain, and reads a completion that it was not given or waits for ever.
ORDERLY = ("ib_send_lat -F -x 3 -n 200 -e",)
UNRELIABLE = (
    "ibv_uc_pingpong -g 3 -n 200 -c", "ibv_ud_pingpong -g 3 -n 200 -c", "ib_send_lat -F -x 3 -n 200 -c UD",
    "ib_write_lat -F -x 3 -n 200 -c UC",
)
# Server and client; SERVER is the server's address.
CONNECTED = (
    ("rping -s -v -V -C 50 -S 1000 -a 0.0.0.0", "rping -c -v -V -C 50 -S 1000 -a SERVER"),
    ("rstream -b 0.0.0.0 -I 50 -C 1 -S 65536 -T v", "rstream -s SERVER -I 50 -C 1 -S 65536 -T v"),
    ("ucmatose -b 0.0.0.0 -c 4 -C 20 -S 4096", "ucmatose -s SERVER -c 4 -C 20 -S 4096"),
)
# Its one thread closes the channel from which the other, when it gets a processor late, reads the next event.
RPING_IS_LATE = r"^rdma_get_cm_event: Bad file descriptor$"
# The last ACK, of a program that ends with what it has received: nobody answers when the request comes again.
ACK_IS_LOST = r"transport retry counter exceeded|[Ss]tatus 12"
# Of a killed program's peer: that is how it learns.
KILLED = "killed on purpose"


class Ledger:
    """Who did what, by any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = defaultdict(Counter)
        self.deeds = Counter()
        self.wrong = []

    def record(self, kind, outcome, *details):
        with self.lock:
            self.outcomes[kind]["started"] += 1
            self.outcomes[kind][outcome] += 1
            if outcome == "failed":
                self.wrong.append((kind, details))
                print(f"NOT so: {kind}: {details[0]}", flush=True)
                for output in details[1:]:
                    print("\n".join(f"    | {line[:120]}" for line in output.splitlines()[-12:]), flush=True)

    def did(self, deed):
        with self.lock:
            self.deeds[deed] += 1


class Shell:
    """What the script does for us."""

    def __init__(self, requests, answers):
        self.lock = threading.Lock()
        self.requests = open(requests, "w", encoding="ascii", buffering=1)
        self.answers = open(answers, encoding="ascii")

    def ask(self, what):
        with self.lock:
            print(what, file=self.requests)
            if self.answers.readline().strip() != "0":
                raise Wrong(f"{what} does not come back")


# --- programs ---------------------------------------------------------------------------------------------------------------


def address_of(link, server):
    """The server's; on a hub the one that its lane was given."""
    if "address" in link:
        return link["address"]
    shown = subprocess.run([VERBLINE, "show", link["hub"], "hub", "--json"], capture_output=True, check=False, timeout=20).stdout
    for lane in json.loads(shown or "[]"):
        if lane["pid"] == server.process.pid:
            return lane["addresses"].split()[0].partition("/")[0]
    raise Wrong("no address of the server")


class Pair:
    """A server and its client, either of which may be killed while they run."""

    def __init__(self, link, number):
        self.link, self.number, self.ends, self.killed = link, number, [], False

    def start(self, end, words):
        self.ends.append(Program(self.link[end], self.number, ["stdbuf", "-oL", *words]))
        return self.ends[-1]

    def run(self, server_words, client_words, port, ready):
        deadline = time.monotonic() + LIMIT
        server = self.start("server", server_words)
        server.wait_until(lambda: ready(server, port), "it listened", deadline)
        client_words = [address_of(self.link, server) if word == "SERVER" else word for word in client_words]
        self.start("client", client_words)
        for end in reversed(self.ends):
            end.end(deadline)
        for name, end in zip(("server", "client"), self.ends):
            if not self.excused(end):
                end.need_peace(name)

    def excused(self, end):
        """The peer ended well, and what this end misses after that is the programs' own doing."""
        if any(other.process.returncode != 0 for other in self.ends if other is not end):
            return False
        return end.says(RPING_IS_LATE) or (self.link.get("loses", False) and end.says(ACK_IS_LOST))

    def kill_one(self, chance):
        self.killed = True
        chance.choice(self.ends).kill()

    def clear(self):
        for end in self.ends:
            end.kill()


def listens(server, port):
    return server.listens(port)


def has_listener(server, _):
    return server.has_listener()


def plan(chance, link, number):
    """Server's and client's words, and when the server is ready."""
    port = FIRST_PORT + number % 20000
    if not link.get("infiniband") and "gid" not in link and chance.random() < 0.35:
        server, client = chance.choice(CONNECTED)
        return [f"{side} -p {port}".split() for side in (server, client)], port, has_listener
    orderly = link.get("lossless") or link.get("infiniband")
    line = chance.choice(RELIABLE + (ORDERLY if orderly else ()) + (UNRELIABLE if link.get("lossless") else ()))
    if link.get("infiniband"):  # without a GRH
        line = re.sub(r" -[gx] 3", "", line)
    line = re.sub(r"-([gx]) 3", rf"-\1 {link.get('gid', 3)}", line)
    if "cable" in link:  # long enough to be pulled
        line = re.sub(r"-n (\d+)", r"-n \g<1>00", line)
    words = [*line.split(), "-p", str(port)]
    return [words, [*words, link.get("tcp", "127.0.0.1")]], port, listens


def is_up(end):
    """Whether the kernel says so, up to a second after the cable is in."""
    shown = subprocess.run(["ip", "-n", end["namespace"], "-json", "link", "show", end["interface"]], capture_output=True, check=True, timeout=10)
    return json.loads(shown.stdout)[0]["operstate"] == "UP"


def judge(words, client):
    if words[0].startswith("ib_"):
        judge_perftest(words[0], words, 0, client.output)
    elif words[0] == "rping" and len(re.findall(r"^ping data: ", client.output, re.MULTILINE)) != 50:
        raise Wrong("not all pings")
    elif words[0] == "ucmatose" and not client.says("^return status 0$"):
        raise Wrong("not all messages")


class Soak:
    def __init__(self, places, shell, until, seed):
        self.places, self.shell, self.until, self.seed = places, shell, until, seed
        self.ledger = Ledger()
        self.numbers = iter(range(1, 1 << 20))
        self.lock = threading.Lock()
        self.alone = {"eth": threading.Lock(), "fabric": threading.Lock()}

    def next_number(self):
        with self.lock:
            return next(self.numbers)

    def over(self):
        return time.monotonic() > self.until

    def transfer(self, chance, name):
        link, number = self.places["links"][name], self.next_number()
        (server, client), port, ready = plan(chance, link, number)
        pair, kind = Pair(link, number), f"{client[0]}, {name}"
        deed = self.deed(chance, link, pair)
        try:
            pair.run(server, client, port, ready)
            judge(client, pair.ends[1])
            self.ledger.record(kind, "completed")
        except Wrong as wrong:
            if pair.killed:
                self.ledger.record(kind, KILLED)
            else:
                self.ledger.record(kind, "failed", f"{' '.join(client)}: {wrong}", *(end.output for end in pair.ends))
        finally:
            deed.cancel()
            pair.clear()
            deed.join()

    def deed(self, chance, link, pair):
        """Something that happens to it while it runs, or nothing."""
        what, after = chance.random(), chance.uniform(0.3, 3)
        inner = random.Random(chance.random())

        def kill():
            if len(pair.ends) < 2 or any(end.process.poll() is not None for end in pair.ends):
                return
            self.ledger.did("a program killed")
            pair.kill_one(inner)
            time.sleep(AFTER_A_KILL)
            pair.clear()

        def pull_cable():
            end = link["cable"][0]
            self.ledger.did("the cable pulled")
            for state, pause in (("down", 0.1), ("up", 0)):
                subprocess.run(["ip", "-n", end["namespace"], "link", "set", end["interface"], state], check=True, timeout=10)
                time.sleep(pause)
            until = time.monotonic() + 10
            while time.monotonic() < until and not all(is_up(end) for end in link["cable"]):
                time.sleep(0.02)

        def pull_if_connected():
            """A program that starts needs a port that is up: each says when it knows the other. The next one waits for us."""
            until = time.monotonic() + 10
            while time.monotonic() < until and any(end.process.poll() is None for end in pair.ends):
                if len(pair.ends) == 2 and all(end.says("remote address:") for end in pair.ends):
                    pull_cable()
                    return
                time.sleep(0.01)

        deed = threading.Timer(after, kill if what < 0.2 else pull_if_connected if what < 0.6 and "cable" in link else lambda: None)
        deed.start()
        return deed

    def programs(self, worker):
        chance = random.Random(f"{self.seed} {worker}")
        names = sorted(self.places["links"])
        while not self.over():
            name = chance.choice(names)
            lock = self.alone.get(name)  # one port, one program
            if lock is None:
                self.transfer(chance, name)
            elif lock.acquire(blocking=False):
                try:
                    self.transfer(chance, name)
                finally:
                    lock.release()

    # --- the gateway ---

    def fetch(self):
        """The file by curl, from the other side of the gateway."""
        gateway = self.places["gateway"]
        command = ["ip", "netns", "exec", gateway["client"], "curl", "-sS", "--max-time", str(LIMIT), gateway["url"]]
        done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT + 10)
        if hashlib.sha256(done.stdout).hexdigest() == gateway["sha256"]:
            self.ledger.record("curl, gateway", "completed")
        else:
            self.ledger.record("curl, gateway", "failed", f"{len(done.stdout)} bytes", done.stderr.decode(errors="replace"))

    def stream(self):
        gateway = self.places["gateway"]
        command = ["ip", "netns", "exec", gateway["client"], "iperf3", "-c", gateway["iperf"], "-t", "2", "-J"]
        done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT)
        self.ledger.record("iperf3, gateway", *(("completed",) if done.returncode == 0 else ("failed", done.stdout.decode()[-300:])))

    def routed(self):
        chance = random.Random(f"{self.seed} gateway")
        while not self.over():
            try:
                chance.choice((self.fetch, self.stream))()
                if chance.random() < 0.15:
                    self.bounce(chance)
            except (Wrong, subprocess.SubprocessError) as wrong:
                self.ledger.record("gateway", "failed", str(wrong))

    def bounce(self, chance):
        """The subnet manager under traffic; a host between two streams, for they end there."""
        if chance.random() < 0.5:
            self.ledger.did("the host of ib-b killed")
            self.shell.ask("host")
            return
        with self.alone["fabric"]:  # a program that starts needs one
            self.ledger.did("the subnet manager killed")
            fetching = threading.Thread(target=self.fetch)
            fetching.start()
            self.shell.ask("subnet-manager")
            fetching.join()

    def run(self):
        threads = [threading.Thread(target=self.programs, args=(worker,)) for worker in range(WORKERS)]
        threads.append(threading.Thread(target=self.routed))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


# --- what must not grow -----------------------------------------------------------------------------------------------------


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmRSS:\s+(\d+)", file.read(), re.MULTILINE)[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def sample(processes):
    return {name: (resident_kb(pid), descriptors(pid)) for name, pid in processes.items()}


def settled(processes, first):
    """Descriptors as few as at first: lanes go when the hub sees that their programs have."""
    until = time.monotonic() + 10
    while True:
        last = sample(processes)
        if all(last[name][1] <= first[name][1] for name in processes) or time.monotonic() > until:
            return last
        time.sleep(0.1)


def counters(instance):
    shown = subprocess.run([VERBLINE, "show", instance, "counters", "--json"], capture_output=True, check=True, timeout=30).stdout
    return json.loads(shown)


def accounts(instance):
    """What the hub's ports, those that are gone too, have received and what became of it: sent, dropped. Copies of what goes to
    several count as received."""
    total = Counter()
    for row in counters(instance):
        if not re.fullmatch(r"lane-\d+|removed ports", row["owner"]):
            continue
        if row["name"] in ("rx_packets", "rx_replicated"):
            total["received"] += row["value"]
        elif row["name"] == "tx_packets":
            total["sent"] += row["value"]
        elif "_dropped_" in row["name"]:
            total["dropped"] += row["value"]
    return total


def balanced(total):
    return total["received"] == total["sent"] + total["dropped"]


def settled_accounts(instance):
    """When nothing is between two counters, or waits for a port."""
    until = time.monotonic() + 10
    while not balanced(total := accounts(instance)) and time.monotonic() < until:
        time.sleep(0.1)
    return total


def unaccounted(instances):
    """Prints what each hub received, sent and dropped. How many hubs have lost packets that they did not count."""
    wrong = 0
    print(f"{'hub':12} {'packets received':>17} {'sent':>11} {'dropped':>9}")
    for name, instance in instances.items():
        total = settled_accounts(instance)
        wrong += not balanced(total)
        print(f"{name:12} {total['received']:17} {total['sent']:11} {total['dropped']:9}{'' if balanced(total) else '  NOT THE SUM'}")
    return wrong


def drops(instances):
    """By instance and reason."""
    for name, instance in instances.items():
        total = Counter()
        for row in counters(instance):
            if row["value"] != 0 and re.search("drop|lost|discard|no_mbuf", row["name"]):
                total[row["name"]] += row["value"]
        yield from ((name, reason, count) for reason, count in sorted(total.items()))


def warm_up(soak):
    """Every kind of link once, so that memory that is touched once has been."""
    chance = random.Random(f"{soak.seed} first")
    for name in sorted(soak.places["links"]):
        soak.transfer(chance, name)
    soak.fetch()
    soak.stream()


def summary(soak, before, first, last):
    print(f"{'transfer':34} {'started':>8} {'completed':>10} {'killed on purpose':>18} {'failed':>7}")
    total = Counter()
    for kind, outcomes in sorted(soak.ledger.outcomes.items()):
        total.update(outcomes)
        print(f"{kind:34} {outcomes['started']:8} {outcomes['completed']:10} {outcomes[KILLED]:18} {outcomes['failed']:7}")
    print(f"{'all':34} {total['started']:8} {total['completed']:10} {total[KILLED]:18} {total['failed']:7}")
    for deed, count in sorted(soak.ledger.deeds.items()):
        print(f"{deed}: {count} times")
    print(f"{'dropped by':12} {'reason':36} {'packets':>9}")
    for name, reason, count in drops(soak.places["instances"]):
        print(f"{name:12} {reason:36} {count:9}")
    wrong = total["failed"] + unaccounted({name: each for name, each in soak.places["instances"].items() if name.endswith("hub")})
    print(f"{'process':12} {'kB after warm-up':>17} {'kB at the end':>14} {'descriptors at first':>21} {'at the end':>11}")
    for name in first:
        grown = last[name][0] - first[name][0] > GROWTH_KB or last[name][1] > before[name][1]
        wrong += grown
        print(f"{name:12} {first[name][0]:17} {last[name][0]:14} {before[name][1]:21} {last[name][1]:11}{'  GROWN' if grown else ''}")
    return wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        places = json.load(file)
    shell, seconds, seed = Shell(sys.argv[2], sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    processes = places["processes"]
    # An end of a memif link keeps the signals of the connection before the present one: the gateway is to have had one.
    shell.ask("host")
    before = sample(processes)
    soak = Soak(places, shell, time.monotonic() + seconds, seed)
    warm_up(soak)
    settled(processes, before)
    first = sample(processes)
    soak.run()
    last = settled(processes, before)
    wrong = summary(soak, before, first, last)
    print(f"seed {seed}: {'nothing' if not wrong else wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
