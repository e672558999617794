// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/packet.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/bench/command_options.h"
#include "apps/verbline/bench/packet_process.h"
#include "apps/verbline/bench/profile_plan.h"
#include "datapath/traffic/stamp.h"

namespace verbline::cli {
namespace {

class BenchPacket final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "bench packet",
            .summary = "send, receive, forward and measure Ethernet frames on any port",
            .synopsis =
                "DEVICE [DEVICE] [--role ROLE] [--size MIX] [--flows N] [--rate RATE] [--seconds S] [--frames N] "
                "[--queues N] [--lcores LIST] [--rfc2544 TEST] [--soak] [--json | --csv] [OPTION...]\n"
                "--profile FILE.toml [--check] [DEVICE [DEVICE]] [OPTION...]",
            .description =
                {"Sends generated frames out of DEVICE, receives and checks them, or forwards. DEVICE is dpdk:DEVARGS, "
                 "any port of DPDK by its PCI address or name; eth:IFNAME; tap:IFNAME; or memif:SOCKET[,server].",
                 "Roles: a generator sends. A sink receives, and counts what is missing in the generator's sequence "
                 "numbers. A forwarder sends each frame out of the other DEVICE, or back out of the only one. loopback "
                 "sends out of the first DEVICE and receives from the second, or from the same, and so knows what was "
                 "lost, repeated and reordered, and measures latency.",
                 "Sizes include the frame check sequence, as in RFC 2544. Each frame is valid, with right checksums, "
                 "and "
                 "carries sequence number and time behind its headers. Latency is that from the making of a "
                 "frame's burst to its receipt; with --timestamps hardware to its arrival at the port, by the port's "
                 "clock, which is compared with the time stamp counter before and during the run.",
                 "Frames of roce1 and roce2 are UD SENDs to a queue pair, with right ICRCs; those of ipoib such SENDs "
                 "of RoCE v2 with an IP and UDP packet in them, whose fields the options set. What is left of a size "
                 "that is no multiple of four behind Ethernet's header is padding. Flows of roce1, which has no ports, "
                 "differ in their queue pair.",
                 "Each queue of each device is polled by one lcore; lcores are taken in turns. EAL arguments in front "
                 "choose them: all of -l but the first carry packets. Without EAL arguments threads may run on every "
                 "CPU, which measures little.",
                 "--rfc2544 searches: throughput is the highest rate without loss (26.1), with its latency (26.2); "
                 "loss "
                 "the share of frames lost at 100 %, 90 %, ... (26.3); back-to-back the longest burst without loss "
                 "(26.4). The highest rate is --rate, or else the line's.",
                 "--profile reads options from a TOML file, under their long names without hyphens, DEVICE as "
                 "`device`; "
                 "what is on the command line wins. Each [[run]] of it is a measurement of its own with options of its "
                 "own, such as size; all use the same ports, so devices, role, queues, MTU, lcores, offloads, "
                 "RSS types, timestamps, rules and impairments are the same for all. The result has a row for each. "
                 "`description` and "
                 "`eal`, the EAL "
                 "arguments that it is meant for, are printed. config/profiles has some.",
                 "--offloads and --rss-types take DPDK's names. One that both directions have, such as ipv4-cksum, "
                 "means both, "
                 "unless rx- or tx- is in front. A driver that lacks one is refused, with those that it has; ports and "
                 "JSON say what was asked for and what is in effect.",
                 "--flow-rules installs what the device takes; what it refuses is said in a line and in the JSON, and "
                 "then the rest spreads as without rules. That a port can match a QPN takes DPDK 23.07 and a driver.",
                 "`verbline doctor` looks at the machine first: what it finds is in the JSON, beside versions, CPU, "
                 "NUMA nodes, kernel and EAL arguments.",
                 "Cycles are of the time stamp counter. The exit status is 1, too, if a soak lost, repeated or "
                 "reordered a frame."},
            .examples =
                {{"verbline -l 0,1 --no-pci --vdev net_null0 -- bench packet dpdk:net_null0 --role generator",
                  "how fast frames of 64 bytes are made on one core"},
                 {"verbline -l 0,1 -a 3b:00.0 -- bench packet dpdk:3b:00.0 --role generator --protocol roce2 "
                  "--size 128 --destination-qpn 0x100-0x1ff",
                  "RoCE v2 to 256 queue pairs, to try what steers it"},
                 {"verbline -l 0-8 -a 3b:00.0 -- bench packet dpdk:3b:00.0 --role sink --queues 8 --flow-rules roce",
                  "how its device steers that"},
                 {"verbline -l 0-2 -a 3b:00.0 -a 3b:00.1 -- bench packet dpdk:3b:00.0 dpdk:3b:00.1 --rfc2544 "
                  "throughput --trial 60",
                  "what a device under test between two ports forwards without loss"},
                 {"verbline -l 0-1 -a 3b:00.0,rxq_cqe_comp_en=1 -a 3b:00.1 -- bench packet dpdk:3b:00.0 "
                  "dpdk:3b:00.1 --profile config/profiles/single-core.toml",
                  "all frame sizes of a published report, in one table"},
                 {"verbline -l 0-4 -a 3b:00.0 -- bench packet dpdk:3b:00.0 --role sink --queues 4 --offloads "
                  "rx-ipv4-cksum,rx-udp-cksum --rss-types ip,udp",
                  "what checking checksums costs, and hashing ports"},
                 {"verbline bench packet dpdk:net_ring0 --frames 100000 --impair loss=0.01,delay=1ms",
                  "try loss and latency without hardware"},
                 {"verbline -l 2-6 -a 3b:00.0 -- bench packet dpdk:3b:00.0 --role sink --queues 4 --soak",
                  "how receive-side scaling spreads, until SIGINT"}},
            .see_also = {"verbline-doctor(1)", "dpdk-testpmd(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app_ = &app;
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("DEVICE", texts_.devices, "one or two devices, see above");
        app.add_option("--role", texts_.role, "generator, sink, forwarder or loopback; without it, loopback")
            ->type_name("ROLE")
            ->check(CLI::IsMember({"generator", "sink", "forwarder", "loopback"}));
        declare_frames(app);
        declare_traffic(app);
        declare_measurement(app);
    }

    Outcome run(const CommandContext& context) override {
        bench::PacketRun run{.eal_arguments = context.eal_arguments,
                             .format = json_  ? bench::Format::json
                                       : csv_ ? bench::Format::csv
                                              : bench::Format::text,
                             .interval = static_cast<Time>(interval_ * second)};
        if (auto planned = plan_into(run); !planned) return usage_failure("bench packet: " + planned.error().what);
        if (check_) return say_valid(run);
        if (const auto note = run.profile ? eal_note(*run.profile, context.eal_arguments) : ""; !note.empty())
            fmt::print(stderr, "verbline: {}\n", note);
        return bench::run_packet(run);
    }

private:
    Result<void> plan_into(bench::PacketRun& run) const {
        if (profile_.empty()) {
            auto plan = bench::make_plan(texts_);
            if (!plan) return std::unexpected(plan.error());
            run.runs.push_back({.name = "1", .size = texts_.size, .plan = std::move(*plan)});
            return {};
        }
        auto profile = bench::load_profile(profile_, bench::option_kinds(*app_));
        if (!profile) return std::unexpected(profile.error());
        auto planned = bench::plan_runs(*profile, bench::given_options(*app_), read_words);
        if (!planned) return std::unexpected(planned.error());
        run.profile = std::move(*profile), run.runs = std::move(*planned);
        return {};
    }

    static Outcome say_valid(const bench::PacketRun& run) {
        fmt::print("{}: valid, {} run{}\n", run.profile ? run.profile->file : "options", run.runs.size(),
                   run.runs.size() == 1 ? "" : "s");
        return {};
    }

    /// As a command line of its own would be read.
    static Result<bench::PacketTexts> read_words(const std::vector<std::string>& words) {
        BenchPacket reader;
        CLI::App app;
        reader.declare(app);
        try {
            app.parse(std::vector(words.rbegin(), words.rend()));  // CLI11 takes them last first
        } catch (const CLI::ParseError& error) {
            return failure(EINVAL, error.what());
        }
        return std::move(reader.texts_);
    }

    void declare_frames(CLI::App& app) {
        app.add_option("--size", texts_.size, "64 to 9216; several as SIZE:WEIGHT,...; or imix; without it, 64")
            ->type_name("MIX");
        app.add_option("--mtu", texts_.mtu, "of the devices; without it, what the largest size needs, at least 1500")
            ->type_name("N")
            ->check(CLI::Range(68, 9216));
        app.add_option("--flows", texts_.flows, "by source ports, then source addresses, unless these are given")
            ->type_name("N")
            ->check(CLI::Range(1, 1'000'000));
        app.add_flag("--ipv6", texts_.ipv6, "IPv6 in place of IPv4");
        app.add_option("--protocol", texts_.protocol, "udp, tcp, roce1, roce2 or ipoib (over RoCE v2); without it, udp")
            ->type_name("NAME")
            ->check(CLI::IsMember({"udp", "tcp", "roce1", "roce2", "ipoib"}));
        app.add_option("--vlan", texts_.vlan, "802.1Q tag: an id, or FIRST-LAST")->type_name("RANGE");
        app.add_option("--source-mac", texts_.source_mac, "an address, or FIRST-LAST")->type_name("RANGE");
        app.add_option("--destination-mac", texts_.destination_mac, "the same")->type_name("RANGE");
        app.add_option("--source-ip", texts_.source_ip, "the same")->type_name("RANGE");
        app.add_option("--destination-ip", texts_.destination_ip, "the same")->type_name("RANGE");
        app.add_option("--source-port", texts_.source_port, "a port, or FIRST-LAST")->type_name("RANGE");
        app.add_option("--destination-port", texts_.destination_port, "the same")->type_name("RANGE");
        app.add_option("--destination-qpn", texts_.destination_qpn,
                       "of roce1, roce2 and ipoib: a queue pair's number, or FIRST-LAST")
            ->type_name("RANGE");
    }

    void declare_traffic(CLI::App& app) {
        app.add_option("--rate", texts_.rate,
                       "1.5Mpps, 10Gbps (of frames) or 50% (of the line); without it, as fast as it goes")
            ->type_name("RATE");
        app.add_option("--catch-up", texts_.catch_up_ms,
                       "milliseconds that a generator whose CPU was taken makes up for at once; without it, one burst")
            ->type_name("MS")
            ->check(CLI::Range(0., 1000.));
        app.add_option("--burst", texts_.burst, "frames sent or received at a time; without it, 32")
            ->type_name("N")
            ->check(CLI::Range(std::size_t{1}, pmd::max_burst));
        app.add_option("--frames", texts_.frames, "to send in all")
            ->type_name("N")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 47));
        app.add_option("--queues", texts_.queues, "of each device, in each direction; without it, 1")
            ->type_name("N")
            ->check(CLI::Range(std::size_t{1}, traffic::Stamp::max_streams));
        app.add_option("--lcores", texts_.lcores, "those of the EAL that poll, such as 1,3-5; without it, all")
            ->type_name("LIST");
        app.add_flag("--software-rss", texts_.software_rss, "spread packets in software if a device has fewer queues");
        declare_offloads(app, texts_.ports);
        app.add_option(
               "--rss-types", texts_.ports.rss_types,
               "of DPDK's ports, what is hashed for several queues, such as ip,udp; without it, ip,tcp,udp as far "
               "as the driver has them")
            ->type_name("LIST");
        app.add_option(
               "--flow-rules", texts_.flow_rules,
               "roce: DPDK's ports that receive send RoCE v2 to queues by rules, by destination QPN if they can, or "
               "else by UDP port and RSS; without it, there are none")
            ->type_name("KIND")
            ->check(CLI::IsMember({"roce"}));
        app.add_flag(
            "--isolated", texts_.isolated,
            "with --flow-rules: a port receives nothing but what they name, and leaves the rest to the kernel");
        app.add_flag("--bidirectional", texts_.bidirectional,
                     "loopback: both devices send and receive; --rate is of each direction, --frames and what is "
                     "printed of both");
        app.add_option("--forward", texts_.forward, "forwarder: io, or macswap to swap MACs; without it, io")
            ->type_name("MODE")
            ->check(CLI::IsMember({"io", "macswap"}));
        app.add_option("--impair", texts_.impair, "worsen the devices, such as loss=0.01,delay=1ms,seed=7")
            ->type_name("SPEC");
    }

    void declare_measurement(CLI::App& app) {
        app.add_option("--seconds", texts_.seconds, "how long; without it, 10, or until all --frames are sent")
            ->type_name("S")
            ->check(CLI::Range(0.001, 1e9));
        app.add_option("--rfc2544", texts_.search, "throughput, loss or back-to-back")
            ->type_name("TEST")
            ->check(CLI::IsMember({"throughput", "loss", "back-to-back"}));
        app.add_option("--trial", texts_.trial_seconds, "seconds of each trial of a search; without it, 2")
            ->type_name("S")
            ->check(CLI::Range(0.01, 1e6));
        app.add_option("--resolution", texts_.resolution_percent,
                       "per cent to which a throughput is to be known; without it, 0.5")
            ->type_name("P")
            ->check(CLI::Range(0.001, 50.));
        app.add_option("--accept-loss", texts_.accepted_loss_percent,
                       "per cent of frames that a throughput may lose; without it, none")
            ->type_name("P")
            ->check(CLI::Range(0., 50.));
        app.add_option(
               "--timestamps", texts_.timestamps,
               "by which latency is measured: tsc, the time at which a frame is received here, or hardware, that "
               "at which the port dates it; without it, tsc")
            ->type_name("CLOCK")
            ->check(CLI::IsMember({"tsc", "hardware"}));
        app.add_flag("--soak", texts_.soak, "until --seconds or a signal; any loss or disorder is a failure");
        app.add_option("--interval", interval_, "print a line of progress every so many seconds")
            ->type_name("S")
            ->check(CLI::Range(0.1, 1e6));
        app.add_option("--profile", profile_, "TOML file of options, and of runs that differ in them")
            ->type_name("FILE");
        app.add_flag("--check", check_, "check options and profile, and start nothing");
        auto* const json = app.add_flag("--json", json_, "print JSON: everything that was measured and recorded");
        app.add_flag("--csv", csv_, "print a line of names, and one for each trial")->excludes(json);
    }

    const CLI::App* app_ = nullptr;  ///< of `declare`
    bench::PacketTexts texts_;
    std::string profile_;
    double interval_ = 0;
    bool json_ = false, csv_ = false, check_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_packet() {
    return std::make_unique<BenchPacket>();
}

}  // namespace verbline::cli
