// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/ipoib.h"

#include <CLI/CLI.hpp>

#include "apps/verbline/bench/command_options.h"
#include "apps/verbline/bench/ipoib/process.h"

namespace verbline::cli {
namespace {

class BenchIpoib final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "bench ipoib",
            .summary = "measure what IPoIB costs beside Ethernet, and their ratio",
            .synopsis =
                "[DEVICE [DEVICE]] [--size LIST] [--carrier LIST] [--mtu N] [--offloads [LIST]] [--seconds S] "
                "[--rounds N] "
                "[--burst N] [--lcores LIST] [--json | --csv] [OPTION...]",
            .description =
                {"Sends the same IP packets over Ethernet and over IPoIB, by the interfaces that gateway and host use, "
                 "and receives them. What is sent out of the first DEVICE is to arrive at the second, or at the same: "
                 "without DEVICE a ring in memory, so that no hardware is needed. DEVICE is dpdk:DEVARGS, eth:IFNAME, "
                 "tap:IFNAME, or memif:SOCKET[,server].",
                 "Carriers of IPoIB are soft_ib, whole InfiniBand packets behind an Ethernet header, with ICRC and "
                 "VCRC; roce1; and RoCE v2 over IPv4 or IPv6, roce2 and roce2-ipv6. Each end computes and checks the "
                 "CRCs.",
                 "A size up to the MTU is that of a UDP packet. A larger one, up to 65535, is that of a TCP packet: "
                 "figures are for the whole of it, whatever it is cut into. Every link carries packets of the same "
                 "MTU.",
                 "Under OFFLOAD is who does the work. off: the sender hands over complete packets, a large one as the "
                 "segments that fit the link, and the receiver leaves the checksums to others. Else the sender asks "
                 "for checksums, and for segmentation (TSO) of a large packet, and the receiver wants the checksums "
                 "verified: software, that does it if the device does not do it for this link, or device. Without "
                 "--offloads devices do nothing. Inside IPoIB no Ethernet device does any of it. Segmentation by the "
                 "device "
                 "needs ipv4-cksum, tcp-cksum and multi-segs beside tcp-tso.",
                 "One lcore sends a burst, then receives it. Times are those of the interfaces and of the device's own "
                 "functions; making and freeing packets is not in them. A figure is the median of the rounds, of which "
                 "each has the mean of the middle half of its bursts; the spread is from the least to the greatest. "
                 "Cycles are of the "
                 "time stamp counter.",
                 "RATIO is IPoIB's packets a second divided by Ethernet's, taken in each round, in which they are "
                 "measured in turn: 1 means that IPoIB costs no more. Last come the geometric means of all ratios of a "
                 "carrier, and of all carriers: one figure for each.",
                 "A signal ends it after the rounds that are complete. The exit status is 1, too, if a packet was lost "
                 "or damaged."},
            .examples = {{"verbline -l 0,1 --no-pci -- bench ipoib", "all of it, without hardware, on lcore 1"},
                         {"verbline bench ipoib --size 65535 --carrier roce2",
                          "64 KB over RoCE v2, with TSO in software and "
                          "cut before"},
                         {"verbline -l 0,1 -a 3b:00.0 -a 3b:00.1 -- bench ipoib dpdk:3b:00.0 dpdk:3b:00.1 --offloads",
                          "between two ports that are connected, beside what they do for Ethernet"}},
            .see_also = {"verbline-doctor(1)", "verbline-bench-packet(1)", "verbline-bench-rdma(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("DEVICE", texts_.devices, "one or two devices, see above");
        app.add_option("--size", texts_.sizes,
                       "bytes of an IP packet, 28 to 65535, several with commas; without it, 64,576,1500,65535")
            ->type_name("LIST");
        app.add_option("--carrier", texts_.carriers,
                       "soft_ib, roce1, roce2, roce2-ipv6, several with commas; without it, soft_ib,roce2")
            ->type_name("LIST");
        app.add_option("--mtu", texts_.mtu, "of IP on every link; without it, 1500")
            ->type_name("N")
            ->check(CLI::Range(ipoib_bench::least_mtu, ipoib_bench::most_mtu));
        app.add_option("--burst", texts_.burst,
                       "packets sent at a time, but of those above the MTU one; without it, 32")
            ->type_name("N")
            ->check(CLI::Range(std::size_t{1}, ipoib_bench::most_burst));
        bench::declare_offloads(app, texts_.ports);
        app.add_option("--lcores", texts_.lcores, "the first of it measures; without it, the EAL's first")
            ->type_name("LIST");
        app.add_option("--seconds", texts_.seconds, "how long in all; without it, 10")
            ->type_name("S")
            ->check(CLI::Range(0.001, 1e6));
        app.add_option("--rounds", texts_.rounds, "in each of which all is measured once; without it, 7")
            ->type_name("N")
            ->check(CLI::Range(1u, ipoib_bench::most_rounds));
        app.add_option("--interval", interval_, "print a line of progress every so many seconds")
            ->type_name("S")
            ->check(CLI::Range(0.1, 1e6));
        auto* const json = app.add_flag("--json", json_, "print JSON: everything that was measured and recorded");
        app.add_flag("--csv", csv_, "print a line of names, and one for each measurement")->excludes(json);
    }

    Outcome run(const CommandContext& context) override {
        using ipoib_bench::Format;
        auto plan = ipoib_bench::make_plan(texts_);
        if (!plan) return usage_failure("bench ipoib: " + plan.error().what);
        return ipoib_bench::run_ipoib({.plan = std::move(*plan),
                                       .eal_arguments = context.eal_arguments,
                                       .format = json_  ? Format::json
                                                 : csv_ ? Format::csv
                                                        : Format::text,
                                       .interval = static_cast<Time>(interval_ * second)});
    }

private:
    ipoib_bench::IpoibTexts texts_;
    double interval_ = 0;
    bool json_ = false, csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_ipoib() {
    return std::make_unique<BenchIpoib>();
}

}  // namespace verbline::cli
