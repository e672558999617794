# SPDX-License-Identifier: BSD-3-Clause
"""The rows of bench/compare. A row measures us and a peer, or a limit, once per round; it raises CannotRun to say why not."""

import functools
import json
import os
import tempfile

import busy_machine
import l3fwd
import l3fwd_ipoib
import limits
import mpi_ranks
import rdma_pairs
import testpmd
import verbs_pairs
from measuring import BUILD, CannotRun, Row, built, case, nanoseconds, need_root, run


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


def below(name, goal, limit, cases, program):
    """What cases take together, beside what they may."""
    return Row(name, "ns", "limit", goal,
               lambda effort: (sum(nanoseconds(effort, program, each) for each in cases), limit))


def wake(what):
    """Until an idle router looks at it: the median, as on a busy machine others have the CPU at times."""
    return Row(f"idle router wakes for a {what}", "us", "limit", 1,
               lambda effort: (case(effort, "bench_idle", f"wake_for_{what}/iterations:1000/manual_time")["median_us"], 50))


def hca(size, goal):
    def measure(effort):
        return (nanoseconds(effort, "bench_hca", f"hca_device/bytes:{size}"),
                nanoseconds(effort, "bench_hca", f"bare_verbs/bytes:{size}"))

    return Row(f"hca datagram {size} B, sent and received", "ns", "bare libibverbs loop", goal, measure)


def guarded_copy(size):
    def measure(effort):
        return (nanoseconds(effort, "bench_memory", f"guarded_copy/size:{size}/offset:5"),
                nanoseconds(effort, "bench_memory", f"memcpy/size:{size}/offset:5"))

    return Row(f"guarded copy {size} B", "ns", "memcpy", 0.95, measure)


def carrier(effort):
    """A RoCE v2 frame of 4096 B made and opened, beside the ICRC of both ends alone."""
    ours = sum(nanoseconds(effort, "bench_link", f"{half}/roce_v2_ipv4/4096") for half in ("seal_burst", "open"))
    return ours, 2 * nanoseconds(effort, "bench_link", "icrc_alone/roce_v2_ipv4/4096")


def beside_l3fwd(name, goal, flows, ours):
    """Packets of 64 B from a port back to it, per second of one core."""
    def measure(_):
        need_root()
        try:
            peer = l3fwd.build(BUILD / "peers/l3fwd")
            return ours(built("apps/verbline/verbline"), flows), l3fwd.peer_rate(peer, flows)
        except l3fwd.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(f"{name}, {flows:,} flow{'s' * (flows > 1)}, l3fwd", "M/s", "DPDK's l3fwd, LPM", goal, measure,
               less_is_better=False, over_network=True)


def forwarding(flows):
    return beside_l3fwd("Ethernet forwarding", 0.9, flows, l3fwd.our_rate)


def ipoib_forwarding(way, flows):
    """With ICRCs in software; l3fwd forwards the packets on Ethernet."""
    return beside_l3fwd(f"{way}, RoCE v2", 0.5, flows, functools.partial(l3fwd_ipoib.our_rate, way=way))


def bench_packet(role, mode, goal, *arguments):
    """Millions of frames of 64 B that one core sends or forwards on a port that costs little."""
    def measure(_):
        try:
            peer = testpmd.peer_rate(mode)
            return testpmd.our_rate(built("apps/verbline/verbline"), ["--role", role, *arguments]), peer
        except l3fwd.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(f"bench packet, {role}, testpmd {mode}", "M/s", f"testpmd {mode}", goal, measure, less_is_better=False,
               over_network=True)


def connected_mode():
    """The connections' packets are 64 KB; datagrams are cut to 2044 B, and coalesced where they arrive."""
    def measure(effort):
        need_root()
        program = built("apps/verbline/verbline")
        return tuple(float(word) for word in run("env", f"VERBLINE={program}", "bench/connected_mode").split())

    return Row("IPoIB connected mode, TCP between two hosts", "Gbit/s", "datagram mode", 3, measure, less_is_better=False,
               over_network=True)


def net_ipoib():
    """Millions of packets that testpmd receives and sends back on the driver's carrier without a wire, with all headers and CRCs."""
    def measure(_):
        try:
            return testpmd.net_ipoib_rate(built("apps/net_ipoib/librte_net_ipoib.so")), 5
        except l3fwd.Failed as reason:
            raise CannotRun(reason) from reason

    return Row("net_ipoib, testpmd macswap", "M/s", "at least", 1, measure, less_is_better=False, over_network=True)


def roce_generator(protocol):
    """Millions of frames of 128 B with an ICRC that one core makes, beside those of UDP."""
    def measure(_):
        def rate(of):
            return testpmd.our_rate(built("apps/verbline/verbline"), ["--role", "generator", "--size", "128", "--protocol", of])

        try:
            return rate(protocol), rate("udp")
        except l3fwd.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(f"bench packet, generator, {protocol}", "M/s", "of UDP, without ICRC", None, measure, less_is_better=False,
               over_network=True)


def bench_rdma(name, unit, figure, perftest, ours, less_is_better=False):
    """`verbline bench rdma` and perftest under `verbline run`, each with two processes on a memif pair: they are to agree."""
    def measure(_):
        built("apps/libibverbs/libibverbs.so.1.14.0")
        verbline = built("apps/verbline/verbline")
        try:
            return rdma_pairs.ours(verbline, figure, *ours), rdma_pairs.perftest(verbline, figure, *perftest)
        except verbs_pairs.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(f"bench rdma, {name}", unit, perftest[0], 0.9, measure, less_is_better, over_network=True)


def bench_rdma_rows():
    return [bench_rdma("write 64 KiB", "MB/s", "BW_average", ("ib_write_bw", "-s", "65536", "-n", "20000", "-m", "4096"),
                       ("--size", "65536", "--iterations", "20000")),
            bench_rdma("read 64 KiB", "MB/s", "BW_average", ("ib_read_bw", "-s", "65536", "-n", "20000", "-m", "4096", "-o", "16"),
                       ("--operation", "read", "--size", "65536", "--iterations", "20000")),
            bench_rdma("write 8 B, lists of 16", "MB/s", "BW_average", ("ib_write_bw", "-s", "8", "-l", "16", "-n", "1000000"),
                       ("--size", "8", "--post-list", "16", "--iterations", "1000000")),
            bench_rdma("send latency 8 B", "us", "t_typical", ("ib_send_lat", "-s", "8", "-n", "100000"),
                       ("--operation", "send", "--latency", "--size", "8", "--iterations", "100000"), less_is_better=True),
            bench_rdma("write latency 8 B", "us", "t_typical", ("ib_write_lat", "-s", "8", "-n", "100000"),
                       ("--latency", "--size", "8", "--iterations", "100000"), less_is_better=True)]


IPOIB_CARRIERS, IPOIB_SIZES = ("soft_ib", "roce2"), (64, 1500)


def bench_ipoib():
    """What `verbline bench ipoib` measures in one run, by carrier, size and direction."""
    report = json.loads(run(built("apps/verbline/verbline"), "bench", "ipoib", "--carrier", ",".join(IPOIB_CARRIERS),
                            "--size", ",".join(map(str, IPOIB_SIZES)), "--seconds", "8", "--rounds", "5", "--json"))
    return {(row["carrier"], row["size"], row["direction"]): row["ns_per_packet"] for row in report["results"]
            if row["offload"] == "off"}


def bench_ipoib_row(runs, carrier, size, direction):
    """A packet without offload requests, over IPoIB and over Ethernet."""
    name = f"bench ipoib, {carrier}, {size} B, {direction}"

    def measure(_):
        times = runs.next_for(name)
        return times[carrier, size, direction], times["ethernet", size, direction]

    return Row(name, "ns", "Ethernet", None, measure, over_network=True)


def bench_ipoib_rows():
    runs = OneRun(bench_ipoib)
    return [bench_ipoib_row(runs, carrier, size, direction) for carrier in IPOIB_CARRIERS for size in IPOIB_SIZES
            for direction in ("send", "receive")]


def against_ethernet(link):
    def measure(effort):
        return tuple(nanoseconds(effort, "bench_router", f"route/{case}/4000") for case in (link, "to_ethernet"))

    return measure


def among_many(effort):
    return tuple(nanoseconds(effort, "bench_router", f"route/{case}") for case in ("among_many/100000", "to_few/10"))


def with_program(name, benchmark):
    """A packet that passes a packet program and is routed, beside one that is routed alone."""
    return Row(f"packet routed, {name}", "ns", "without a program", 0.8,
               lambda effort: tuple(nanoseconds(effort, "bench_router", f"{case}/4000") for case in (benchmark, "route/to_ethernet")))


def two_shards(name, benchmark, figure, goal, program="bench_shards"):
    """Millions of packets or messages a second that two shards carry together, beside what one does."""
    def measure(effort):
        if len(os.sched_getaffinity(0)) < 2:
            raise CannotRun("needs two CPUs")
        return tuple(case(effort, program, f"{benchmark}/{shards}/real_time")[figure] / 1e6 for shards in (2, 1))

    return Row(name, "M/s", "one shard", goal, measure, less_is_better=False)


def two_rdma_shards(name, benchmark, figure, goal):
    return two_shards(name, benchmark, figure, goal, "bench_rdma_shards")


def messages(name, benchmark, least):
    """Millions of messages a second, both ends on one core."""
    def measure(effort):
        return case(effort, "bench_rdma", f"small_messages/{benchmark}/1")["items_per_second"] / 1e6, least

    return Row(name, "M/s", "limit", 1, measure, less_is_better=False)


def gigabytes(effort, benchmark):
    return case(effort, "bench_rdma", benchmark)["bytes_per_second"] / 1e9


def large_messages(operation, goal):
    def measure(effort):
        return gigabytes(effort, f"large_messages/{operation}"), gigabytes(effort, "limit_copy_crc/64")

    return Row(f"{operation} 1 MiB", "GB/s", "one copy and ISA-L's CRC-32 per end", goal, measure, less_is_better=False)


def round_robin(effort):
    def rate(pairs):
        return case(effort, "bench_rdma", f"round_robin/{pairs}")["items_per_second"] / 1e6

    return rate(10_000), rate(1)


def idle_queue_pair(effort):
    return case(effort, "bench_rdma", "idle_queue_pair/iterations:1")["bytes"], 1024


def send_locked(name, counter, limit):
    """Locked instructions of one message of 64 B over the verbs."""
    return Row(name, "", "limit", 1, lambda effort: (case(effort, "bench_verbs", "send_locked/iterations:21")[counter], limit))


def allocations(effort):
    """While messages flow, of every kind."""
    kinds = ("small_messages/rc_write/1", "small_messages/rc_send/1", "small_messages/ud_send/1", "round_robin/10000",
             "large_messages/rc_write", "large_messages/rc_read", "large_messages/rc_send")
    return sum(case(effort, "bench_rdma", kind)["allocations"] for kind in kinds), 0


@functools.cache
def simulated():
    """What the simulations of loss and congestion measured: at virtual time, so the same in every run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        # A test that fails says so itself, and has measured: the rows show by how much.
        run(built("tests/sim_goodput_test"), f"--gtest_output=json:{file.name}", may_fail=True)
        suites = json.load(file)["testsuites"]
    return {name: value for suite in suites for test in suite["testsuite"] for name, value in test.items()}


def simulation(name, unit, peer, goal, ours, theirs, less_is_better=False):
    def measure(_):
        found = simulated()
        return float(found[ours]), float(found[theirs]) if isinstance(theirs, str) else theirs

    return Row(name, unit, peer, goal, measure, less_is_better)


def goodput(percent, goal):
    """Of lossless, and beside go-back-N losing the same packets."""
    ours = f"loss_{percent}_selective"
    return [simulation(f"goodput at {percent} % loss", "share", "lossless", goal, ours, 1),
            simulation(f"goodput at {percent} %, go-back-N", "share", "go-back-N, the same losses", 1, ours,
                       f"loss_{percent}_go_back_n")]


def verbs(name, unit, peer, goal, ours, theirs, less_is_better=False):
    """Two unmodified programs over our library on a memif pair, beside a peer's or a limit."""
    def measure(_):
        built("apps/libibverbs/libibverbs.so.1.14.0")
        try:
            return ours(built("apps/verbline/verbline")), theirs() if callable(theirs) else theirs
        except verbs_pairs.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(name, unit, peer, goal, measure, less_is_better, over_network=True)


def verbs_latency(program):
    """At most three microseconds, and at most 0.6 of what UCX takes over TCP."""
    def ours(verbline):
        return verbs_pairs.latency(verbline, program, 100_000)

    return [verbs(f"{program} 8 B", "us", "limit", 1, ours, 3, less_is_better=True),
            verbs(f"{program} 8 B, UCX", "us", "UCX tag_lat, TCP on loopback", 1 / 0.6, ours,
                  lambda: verbs_pairs.ucx_latency(100_000), less_is_better=True)]


def verbs_bandwidth(text, size, count):
    return verbs(f"ib_write_bw {text}", "MB/s", "UCX tag_bw, TCP on loopback", 1,
                 lambda verbline: verbs_pairs.bandwidth(verbline, size, count),
                 lambda: verbs_pairs.ucx_bandwidth(size, count))


def node_rows():
    """Two programs of one node, beside a memif pair of their own."""
    def beside_pair(name, unit, goal, measure, less_is_better):
        def ours(verbline):
            return measure(verbline, verbs_pairs.two_of_a_node)

        return verbs(f"node: {name}", unit, "a memif pair", goal, ours,
                     lambda: measure(built("apps/verbline/verbline"), verbs_pairs.memif_pair), less_is_better)

    return [beside_pair("ib_send_lat 8 B", "us", 1 / 1.3,
                        lambda verbline, over: verbs_pairs.latency(verbline, "ib_send_lat", 100_000, over), True),
            beside_pair("ib_write_bw 64 KiB", "MB/s", 0.9,
                        lambda verbline, over: verbs_pairs.bandwidth(verbline, 65536, 50_000, over), False),
            verbs("node: ib_write_bw 64 KiB, XRC", "MB/s", "RC", None,
                  lambda verbline: verbs_pairs.bandwidth(verbline, 65536, 50_000, verbs_pairs.two_of_a_node, "XRC"),
                  lambda: verbs_pairs.bandwidth(built("apps/verbline/verbline"), 65536, 50_000, verbs_pairs.two_of_a_node)),
            verbs("node: verbline run true", "ms", "limit", 1, verbs_pairs.start_on_node, 150, less_is_better=True)]


def ranks_rows():
    """MPI, measured as the OSU micro-benchmarks do: on two nodes beside UCX over TCP; sixteen ranks on one beside two."""
    def beside_tcp(name, unit, counts, measurement, less_is_better):
        return verbs(f"ranks: {name}", unit, "UCX, TCP on loopback", None,
                     lambda verbline: mpi_ranks.on_nodes(verbline, counts, *measurement),
                     lambda: mpi_ranks.over_tcp(sum(counts), *measurement), less_is_better)

    def one_pair():
        return mpi_ranks.on_nodes(built("apps/verbline/verbline"), [2], "bandwidth", 65536, 200)

    return [beside_tcp("latency 8 B, 2 nodes", "us", [1, 1], ("latency", 8, 2000), True),
            beside_tcp("bandwidth 64 KiB, 2 nodes", "MB/s", [1, 1], ("bandwidth", 65536, 100), False),
            beside_tcp("allreduce 8 B, 2 + 2", "us", [2, 2], ("allreduce", 8, 200), True),
            verbs("ranks: alltoall 64 KiB, 16", "MB/s", "one pair of the node", 0.8,
                  lambda verbline: mpi_ranks.on_nodes(verbline, [16], "alltoall", 65536, 10), one_pair)]


def busy(processes, program, ours):
    """At most twice what TCP takes, beside compute-bound processes."""
    def measure(_):
        built("apps/libibverbs/libibverbs.so.1.14.0")
        try:
            return busy_machine.beside(built("apps/verbline/verbline"), processes, ours)
        except verbs_pairs.Failed as reason:
            raise CannotRun(reason) from reason

    return Row(f"busy {processes}: {program}", "us", "sockperf, TCP on loopback", 0.5, measure, over_network=True)


def job_start(_):
    """Milliseconds for 100,000 routes from one host of a fat tree of 648, with the path cache and without."""
    need_root()
    lines = run("apps/testbed/with_fabric", "--fat-tree", "36", "18", "18", built("bench/job_start")).splitlines()
    cached, plain = (json.loads(line) for line in lines if line.startswith("{"))
    if cached["queries"] > cached["pairs"] or max(cached["most_outstanding"], plain["most_outstanding"]) > 64:
        raise CannotRun(f"{cached['queries']} queries for {cached['pairs']} pairs, {cached['most_outstanding']} at a time")
    return 1000 * cached["seconds"], 1000 * plain["seconds"]


def lookup(name, kind, goal):
    """How an endpoint is found among a million, beside among a thousand."""
    def measure(effort):
        return tuple(nanoseconds(effort, "bench_cm", f"{kind}/{size}") for size in (1_000_000, 1_000))

    return Row(f"{name}, 1,000,000 there", "ns", "1,000 there", goal, measure)


def connect(effort, established):
    return case(effort, "bench_cm", f"connect/{established}/iterations:20000")


def connect_rate(effort):
    return tuple(connect(effort, established)["items_per_second"] / 1e3 for established in (100_000, 100))


def quickstart():
    """The results of one run."""
    need_root()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run("apps/quickstart.sh", "--json", file.name)
        return json.load(file)


class OneRun:
    """A run of the quickstart, of a guest or of a benchmark shows several figures: each round of each row takes those of the
    same run."""

    def __init__(self, measure):
        self.measure = measure
        self.runs = []
        self.taken = {}

    def next_for(self, row):
        number = self.taken[row] = self.taken.get(row, -1) + 1
        if number == len(self.runs):
            self.runs.append(self.measure())
        return self.runs[number]


def quickstart_row(runs, name, unit, peer, goal, figures, less_is_better):
    return Row(name, unit, peer, goal, lambda _: figures(runs.next_for(name)), less_is_better, over_network=True)


def in_rxe_guest():
    """row -> messages or connections a second, ours and rxe's, of one run in one guest."""
    need_root()
    program = built("apps/verbline/verbline")
    built("apps/libibverbs/libibverbs.so.1.14.0")
    lines = run("env", f"VERBLINE={program}", "bench/rxe_guest", "1").splitlines()
    words = [line.rsplit(maxsplit=3) for line in lines if line.startswith(("send ", "write ", "cmtime "))]
    if not words:
        raise CannotRun(lines[-1] if lines else "no figures")
    return {name.strip(): (float(ours), float(rxe)) for name, ours, rxe, _ in words}


def rxe_row(runs, name, goal, unit="msg/s", peer="kernel rxe, same perftest"):
    return Row(f"{name}, in one guest", unit, peer, goal, lambda _: runs.next_for(name)[name],
               less_is_better=False, over_network=True)


def all_rows():
    """The table. A new row: a case in a *_bench.cc, and a line here; apps/EXTENDING.md."""
    runs = OneRun(quickstart)
    guest_runs = OneRun(in_rxe_guest)
    return limits.attached([
        *(icrc(size) for size in (64, 128, 256, 512, 1024, 2048, 4096)),
        Row("path_cache_hit_ns", "ns", "limit", 1, lambda effort: (hit(effort), 150)),
        Row("path_cache against SA query", "ns", "PathRecord GET to OpenSM", 200, lambda effort: (hit(effort), sa_query(effort))),
        alone("ipoib_encapsulate 2044 B", "bench_ipoib", "ipoib_encapsulate/2044"),
        alone("ipoib_decapsulate 2044 B", "bench_ipoib", "ipoib_decapsulate/2044"),
        alone("fib and neighbour lookup", "bench_fib", "fib_and_neighbour_lookup"),
        alone("packet routed to Ethernet", "bench_router", "route/to_ethernet/4000"),
        alone("packet routed to IPoIB", "bench_router", "route/to_ipoib/4000"),
        with_program("by a program that passes", "route_with_program"),
        with_program("by a program with 1,000 prefixes", "route_by_prefixes"),
        alone("packet dropped by a program with 1,000 prefixes", "bench_router", "drop_by_prefixes/4000"),
        Row("packet routed among 1,000,000 routes and 100,000 neighbours", "ns", "with 10 neighbours", 1 / 1.5, among_many),
        Row("IPoIB against Ethernet, routed, CRCs in software", "ns", "routed to Ethernet", None, against_ethernet("to_ipoib")),
        Row("IPoIB against Ethernet, routed, CRCs by the device", "ns", "routed to Ethernet", 0.95,
            against_ethernet("to_ipoib_of_device")),
        *(forwarding(flows) for flows in (1, 10_000)),
        *(ipoib_forwarding(way, flows) for way in l3fwd_ipoib.WAYS for flows in (1, 10_000)),
        bench_packet("generator", "txonly", 0.9),
        bench_packet("forwarder", "io", 0.95, "--forward", "io"),
        bench_packet("forwarder", "macswap", 0.95, "--forward", "macswap"),
        net_ipoib(),
        connected_mode(),
        roce_generator("roce2"),
        *bench_rdma_rows(),
        *bench_ipoib_rows(),
        two_shards("two shards to Ethernet, for a CPU's second", "shards/to_ethernet", "packets_per_cpu_second", 1.8),
        two_shards("two shards to IPoIB, for a CPU's second", "shards/to_ipoib", "packets_per_cpu_second", 1.8),
        two_shards("two shards to Ethernet, in wall time", "shards/to_ethernet", "packets_per_second", None),
        two_shards("two shards to IPoIB, in wall time", "shards/to_ipoib", "packets_per_second", None),
        two_shards("two shards of one queue to Ethernet", "shards_of_one_queue/to_ethernet", "packets_per_second", None),
        two_rdma_shards("two RDMA shards, for a CPU's second", "rdma_shards", "messages_per_cpu_second", 1.8),
        two_rdma_shards("two RDMA shards, each packet handed over", "rdma_shards_handed_over", "messages_per_second", None),
        two_rdma_shards("two RDMA shards of one queue", "rdma_shards_of_one_queue", "messages_per_second", None),
        two_shards("two shards of one queue to IPoIB", "shards_of_one_queue/to_ipoib", "packets_per_second", None),
        below("roce v2 seal and open 64 B", 1, 60, ("seal_burst/roce_v2_ipv4/64", "open/roce_v2_ipv4/64"),
              "bench_link"),
        Row("roce v2 seal and open 4096 B", "ns", "ICRC alone, twice", 0.8, carrier),
        hca(256, None),
        hca(2048, 0.7),
        *(guarded_copy(size) for size in (64, 1024, 4096)),
        below("memory key lookup", 1, 5, ("resolve/regions:1000/all:0",), "bench_memory"),
        messages("rc_write 64 B", "rc_write", 4),
        messages("rc_send 64 B", "rc_send", 4),
        messages("ud_send 64 B", "ud_send", 8),
        large_messages("rc_write", 0.5),
        large_messages("rc_read", None),
        large_messages("rc_send", None),
        Row("rc_write over 10,000 QPs", "M/s", "one QP", 0.5, round_robin, less_is_better=False),
        Row("idle RC QP beside queues", "B", "limit", 1, idle_queue_pair),
        Row("allocations in steady state", "", "limit", 1, allocations),
        send_locked("ibv_post_send: locked instructions", "post_locked", 7),
        send_locked("the same, to ibv_poll_cq", "completion_locked", 12),
        alone("ibv_post_send to completion 64 B", "bench_verbs", "send_message"),
        *goodput(0.1, 0.9),
        *goodput(1, 0.6),
        simulation("incast of 16: link used", "share", "its rate", 0.9, "used", 1),
        simulation("incast of 16: Jain fairness", "", "equal shares", 0.95, "jain", 1),
        simulation("incast of 16: drops", "packets", "limit", 1, "dropped", 0, less_is_better=True),
        *verbs_latency("ib_send_lat"),
        *verbs_latency("ib_write_lat"),
        verbs_bandwidth("64 KiB", 65536, 100_000),
        verbs_bandwidth("1 MiB", 1 << 20, 6_000),
        verbs("ib_write_bw 8 B, -l 16", "M/s", "limit", 1,
              lambda verbline: verbs_pairs.message_rate(verbline, 4_000_000), 2),
        *node_rows(),
        *ranks_rows(),
        *(busy(processes, program, ours) for processes in (0, 2, 4, 8)
          for program, ours in (("rstream -S 64", busy_machine.rstream_latency),
                                ("ib_send_lat 64 B", busy_machine.send_latency))),
        Row("job start, 100,000 routes", "ms", "every route asked for", None, job_start),
        # The manager finds those of MADs that have arrived together as the bursts do; one that comes alone waits.
        lookup("endpoint by id, of a burst of 32", "id_lookup_burst", 0.5),
        lookup("endpoint by id, alone", "id_lookup", None),
        lookup("endpoint by far end, of a burst of 32", "remote_lookup_burst", 0.5),
        lookup("endpoint by far end, alone", "remote_lookup", None),
        lookup("MAD received and polled, of a burst of 32", "receive/burst", None),
        lookup("MAD received and polled, alone", "receive/single", None),
        Row("connect with 100,000 others", "k/s", "with 100", 0.8, connect_rate, less_is_better=False),
        Row("established endpoint", "B", "limit", 1, lambda effort: (connect(effort, 100_000)["bytes"], 1024)),
        verbs("cmtime -c 1000", "conn/s", "limit", 1, lambda verbline: verbs_pairs.connections(verbline, 1000), 10_000),
        quickstart_row(runs, "TCP lan to ib-a, kernel router", "Gbit/s", "three namespaces", 0.58,
                       lambda r: (r["tcp_gbps"], r["kernel_tcp_gbps"]), less_is_better=False),
        quickstart_row(runs, "UDP of 64 B, kernel router", "packets/s", "three namespaces", 1,
                       lambda r: (r["udp_small_pps"], r["kernel_udp_small_pps"]), less_is_better=False),
        *(rxe_row(guest_runs, name, goal) for name, goal in (("send 64 B", 5), ("write 64 B", 5), ("send 64 KiB", 3),
                                                            ("write 64 KiB", 3))),
        rxe_row(guest_runs, "cmtime -c 1000", 3, "conn/s", "kernel rxe, same cmtime"),
        quickstart_row(runs, "gateway memory", "MB", "limit", 1, lambda r: (r["gateway_rss_mb"], 300), less_is_better=True),
        quickstart_row(runs, "idle gateway", "% CPU", "limit", 1, lambda r: (r["gateway_idle_cpu_pct"], 1), less_is_better=True),
        quickstart_row(runs, "idle host", "% CPU", "limit", 1, lambda r: (r["host_idle_cpu_pct"], 1), less_is_better=True),
        *(wake(what) for what in ("packet", "command")),
    ])
