// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/rdma.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/bench/rdma/process.h"

namespace verbline::cli {
namespace {

class BenchRdma final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "bench rdma",
            .summary = "measure bandwidth and latency of RDMA operations on any link",
            .synopsis =
                "LINK [SERVER | --both LINK] [--operation NAME] [--transport NAME] [--latency] [--size N | --all] "
                "[--qps N] [--iterations N | --duration S] [--bidirectional] [--json | --csv] [OPTION...]",
            .description =
                {"Measures SEND, WRITE, READ and atomics over RC, UC, UD and XRC by the native API, and prints what "
                 "perftest prints: the same columns, and the same keys with --json, beside the machine's facts.",
                 "Without SERVER it waits on LINK for a client, does what that asks for, and ends with it. With "
                 "SERVER, an address of the server's, it is the client; the test's options are given there alone. With "
                 "--both, both ends are in this process, the server on the second LINK.",
                 "LINK is as for verbline-run(1): hub:NAME, a lane of a hub, with direct links between two such ends; "
                 "node:NAME, the port of a node; eth:IFNAME, an interface with the kernel's addresses, or with --ip "
                 "beside them; tap:IFNAME; memif:SOCKET[,server]; dpdk:DEVARGS; or ib:HOST@FABRIC, a port of a soft "
                 "fabric, whose hub has to run. A link without addresses has a link-local one, and a port of a fabric "
                 "the GID that its subnet manager gave it; the server prints what the client is to name.",
                 "The ends find each other by a service id, as services of the connection manager are found, and talk "
                 "by datagrams on the link itself: it needs no TCP.",
                 "Bandwidths are of both directions together, in units of 2^20 bytes, or of 10^9 bits with "
                 "--report_gbits. The peak is the best stretch between a posting and a completion, and 0 with "
                 "--duration or above 20,000 messages. Latencies of SEND and WRITE are half of a message and its "
                 "answer, those of READ and atomics whole; as in perftest, the two longest are left out.",
                 "Each end is polled by one lcore. EAL arguments in front choose them: all of -l but the first. "
                 "Without EAL arguments threads may run on every CPU, which measures little.",
                 "Contents and numbers are compared after each size: the exit status is 1 if what arrived is not what "
                 "was sent, and if the other end or the link goes away. Messages that UC and UD lose are said, and no "
                 "failure."},
            .examples =
                {{"verbline bench rdma hub:default", "a server on the hub that verbline-hub(1) runs"},
                 {"verbline bench rdma node:default", "a server at the port of a node, one of several programs there"},
                 {"verbline bench rdma ib:H3@vl fe80::10:3", "a client at port H3 of fabric vl"},
                 {"verbline bench rdma eth:eth1", "a server"},
                 {"verbline bench rdma eth:eth1 10.1.0.1 --all", "its client: WRITEs of 2 bytes to 8 MiB"},
                 {"verbline bench rdma eth:eth1 10.1.0.1 --operation send --latency --size 8",
                  "half a round trip of 8 bytes"},
                 {"verbline -l 0-2 --no-huge -m 1024 --no-pci -- bench rdma memif:x --both memif:x,server --qps 4",
                  "both ends here, on lcores 1 and 2"}},
            .see_also = {"verbline-doctor(1)", "verbline-bench-packet(1)", "ib_write_bw(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("LINK", texts_.link, "where this end is, see above");
        app.add_option("SERVER", texts_.server, "IPv4 or IPv6 address of the server; without it, this is one");
        app.add_option("--both", texts_.both, "both ends here, the server on this second link")->type_name("LINK");
        app.add_option("--port", texts_.port_number,
                       "number of the server's service, the same at both ends; without it, 18515")
            ->type_name("N")
            ->check(CLI::Range(1u, 65535u));
        app.add_option("--ip", texts_.addresses, "address of LINK, such as 10.1.0.1/24; several are allowed")
            ->type_name("CIDR")
            ->expected(1)
            ->take_all()
            ->allow_extra_args(false);
        declare_test(app);
        declare_queues(app);
        declare_run(app);
    }

    Outcome run(const CommandContext& context) override {
        auto plan = rdma_bench::make_plan(texts_);
        if (!plan) return usage_failure("bench rdma: " + plan.error().what);
        return rdma_bench::run_rdma({.plan = std::move(*plan),
                                     .eal_arguments = context.eal_arguments,
                                     .format = json_  ? rdma_bench::Format::json
                                               : csv_ ? rdma_bench::Format::csv
                                                      : rdma_bench::Format::text});
    }

private:
    void declare_test(CLI::App& app) {
        app.add_option("--operation", texts_.operation, "send, write, read or atomic; without it, write")
            ->type_name("NAME")
            ->check(CLI::IsMember({"send", "write", "read", "atomic"}));
        app.add_option("--atomic_type", texts_.atomic, "FETCH_AND_ADD or CMP_AND_SWAP; without it, FETCH_AND_ADD")
            ->type_name("NAME")
            ->check(CLI::IsMember({"FETCH_AND_ADD", "CMP_AND_SWAP"}));
        app.add_option("--transport,--connection", texts_.transport, "RC, UC, UD or XRC; without it, RC")
            ->type_name("NAME")
            ->transform(CLI::IsMember({"RC", "UC", "UD", "XRC"}, CLI::ignore_case));
        app.add_flag("--latency", texts_.latency, "latency, one message at a time, in place of bandwidth");
        app.add_option("--size", texts_.size,
                       "bytes of a message; without it 65536, for latency 2; datagrams: the path MTU at most")
            ->type_name("N")
            ->check(CLI::Range(std::uint32_t{1}, rdma_bench::largest_message));
        app.add_flag("--all", texts_.all, "sizes of 2, 4, 8, ... 8388608");
        app.add_flag("--bidirectional", texts_.bidirectional, "both ends send");
        app.add_option("--roce", texts_.roce, "version of RoCE of both ends, v1 or v2; without it, v2")
            ->type_name("VERSION")
            ->check(CLI::IsMember({"v1", "v2"}));
        app.add_option("--mtu", texts_.mtu, "of the path, at most: 256 to 4096; without it, what the link carries")
            ->type_name("N")
            ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
    }

    void declare_queues(CLI::App& app) {
        app.add_option("--qps,--qp", texts_.pairs, "queue pairs of each end; without it, 1")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::most_pairs));
        app.add_option("--tx-depth", texts_.tx_depth, "of a send queue; without it 128, for latency 1")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::deepest_queue));
        app.add_option("--rx-depth", texts_.rx_depth, "of a receive queue; without it, 512")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::deepest_queue));
        app.add_option("--post-list,--post_list", texts_.post_list, "requests posted at once; without it, 1")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::deepest_queue));
        app.add_option("--cq-mod", texts_.cq_moderation,
                       "messages to a completion; without it 100, and 1 for one size above 8192")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::deepest_queue));
        app.add_option("--inline,--inline_size", texts_.inline_bytes, "SEND and WRITE: copy data up to this size")
            ->type_name("N")
            ->check(CLI::Range(0u, rdma_bench::most_inline));
        app.add_option("--outs", texts_.reads, "READs and atomics outstanding; without it, 16")
            ->type_name("N")
            ->check(CLI::Range(1u, rdma_bench::most_reads));
    }

    void declare_run(CLI::App& app) {
        app.add_option("--iterations,--iters", texts_.iterations,
                       "messages of each queue pair; without it 1000, and 5000 of WRITE bandwidth")
            ->type_name("N")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
        app.add_option("--duration", texts_.duration, "seconds of each size, in place of a number")
            ->type_name("S")
            ->check(CLI::Range(0.001, 1e6));
        app.add_option("--impair", texts_.impair, "worsen the links, such as loss=0.01,delay=1ms,seed=7")
            ->type_name("SPEC");
        app.add_option("--lcores", texts_.lcores,
                       "those of the EAL that poll, the client's first; without it, the first")
            ->type_name("LIST");
        app.add_flag("--report_gbits", texts_.gigabits, "bandwidth in Gb/sec");
        auto* const json = app.add_flag("--json", json_, "print JSON: perftest's keys, and the machine's facts");
        app.add_flag("--csv", csv_, "print a line of names, and one for each size")->excludes(json);
    }

    rdma_bench::RdmaTexts texts_;
    bool json_ = false, csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_rdma() {
    return std::make_unique<BenchRdma>();
}

}  // namespace verbline::cli
