// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/node.h"

#include <charconv>

#include <grp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/command_line/option_file.h"
#include "apps/verbline/hub/hub_process.h"
#include "apps/verbline/hub/lane_options.h"
#include "control/hub/directory.h"
#include "control/hub/protocol.h"

namespace verbline::cli {
namespace {

class Node final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "node",
            .summary = "share one port among the RDMA programs of this machine",
            .synopsis =
                "NAME --port DEVICE [--ip ADDRESS/LENGTH]... [--mtu N] [--group GROUP] [--mode MODE] "
                "[--user-lanes N] [--user-groups N] [--user-ports N] [--user-direct N] [--user-targets N] "
                "[--lane-groups N] [--lane-ports N] [--no-direct] [--impair SPEC]\nNAME --config FILE",
            .description =
                {"Owns a port, and gives each program that joins (verbline run --link node:NAME) the same device on "
                 "it, as a network adapter does: one MAC address, one set of IP addresses, one connection manager. "
                 "Runs until SIGINT or SIGTERM; prints a line that ends in `ready` when programs can join.",
                 "The port is eth:IFNAME, with the addresses that the kernel has there, unless --ip gives it others "
                 "of its own; or, always with --ip, tap:IFNAME, memif:SOCKET[,server], or dpdk:DEVARGS, any port of "
                 "DPDK; or ib:HOST@FABRIC, a port of a soft InfiniBand fabric.",
                 "On a fabric the node is the host: it alone asks the subnet manager for paths, with one cache for all "
                 "programs, joins multicast groups, once for all of them, and resolves IP addresses as an IPoIB "
                 "interface does. --ip names the addresses of that interface, and with a P_Key behind it, such as "
                 "10.8.0.1/24%0x8001, of one in another partition; without it the fabric's hub gives them.",
                 "A packet goes to the program that its destination queue pair number names; up to 1023 programs have "
                 "16384 numbers each. Connection requests go to the program that listens at their address and port: "
                 "programs share port numbers by address, or by RDMA_OPTION_ID_REUSEADDR, as on a host. Programs of "
                 "this node that talk to each other do it by shared memory, not over the port.",
                 "With several lcores (-l) each forwards for its part of the programs, and for its part of the port's "
                 "queues, if it has several: an adapter's by dpdk: that spreads packets by a hash of their flow, or as "
                 "many as are named (memif:SOCKET,queues=2). What a program sends leaves by a queue of the lcore that "
                 "received it. verbline show NAME shards says how busy each is.",
                 "Without --group or --mode only programs of the node's own user join. With them the socket in the "
                 "node's directory, /run/verbline/hub/NAME of root, belongs to that group, with mode 0660 unless "
                 "--mode is given: 0666 is for everyone. Containers need that directory at the same place, and "
                 "nothing else of the host.",
                 "When a program is killed, its connections are ended in its name (DREQ, REJ), its groups are left "
                 "and its ports are free at once; its queue pair numbers are not used again for some seconds.",
                 "What a user's programs have of the node in all is limited by --user-lanes and the options behind it; "
                 "refusals are counted (quota_ports and others in verbline show NAME counters). Queue pairs and memory "
                 "are the program's own: limit them by ulimit(1) or control groups.",
                 "On SIGHUP a file of --config is read again: limits, --group, --mode, and on Ethernet addresses that "
                 "--ip "
                 "has given, change for programs that ask from then on, and for nobody's connections. If it has a "
                 "mistake, or another option has changed, nothing changes, and one line says why.",
                 "The node runs at a higher priority than programs, where it may (nice(2) of -10), since all of them "
                 "wait for it; it sleeps when there is nothing to do.",
                 "A program may send RDMA packets only, datagrams only from its own queue pairs and messages of the "
                 "connection manager only with ids of its own; all else is dropped and counted "
                 "(rx_dropped_not_rdma, rx_dropped_foreign_qpn, gsi_dropped_foreign_id in verbline show NAME "
                 "counters)."},
            .examples = {{"verbline node eth1 --port eth:eth1", "all programs share the addresses of eth1"},
                         {"verbline run --link node:eth1 -- ib_send_bw", "a program on it"},
                         {"verbline -l 0-2 -a 03:00.0 -- node n1 --port dpdk:03:00.0 --ip 10.1.0.1/24",
                          "an adapter by DPDK's driver, with two queues, each on a core of its own"},
                         {"verbline node eth1 --port eth:eth1 --group rdma", "for the members of a group"},
                         {"verbline node h2 --port ib:H2@vl", "the port of host H2 on the soft fabric vl"},
                         {"verbline show h2 paths", "the paths that its programs have asked for"},
                         {"verbline show eth1 hub", "which programs have joined, and what they carry"}},
            .see_also = {"verbline-node@.service(8)", "verbline-run(1)", "verbline-hub(1)", "verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("--port", port_, "the port that it owns")->required()->type_name("DEVICE");
        app.add_option("--ip", addresses_, "an address of the port; may be repeated")
            ->expected(1)
            ->take_all()
            ->type_name("ADDRESS/LENGTH");
        app.add_option("--group", group_, "whose members may join, too")->type_name("GROUP");
        app.add_option("--mode", mode_, "of the socket that programs join at, octal; without it, 0660")
            ->type_name("MODE");
        app.add_option("--user-targets", options_.quotas.user_targets,
                       "most XRC targets of a user other than the node's; without it, 1024")
            ->type_name("N");
        lanes_.declare(app);
        option_file_ = add_option_file(app);
    }

    Outcome run(const CommandContext& context) override {
        if (auto good = read(); !good) return good;
        options_.eal_arguments = context.eal_arguments;
        if (option_file_->count() > 0) {
            options_.file = option_file_->as<std::string>();
            options_.read_again = [this, &context] { return read_again(context); };
        }
        return run_hub(options_);
    }

private:
    /// After parsing: what the options say.
    Outcome read() {
        if (auto good = lanes_.read(); !good) return good;
        options_.node.emplace();
        for (const auto& check : {&Node::read_port, &Node::read_addresses, &Node::read_access}) {
            if (auto good = (this->*check)(); !good) return good;
        }
        return {};
    }

    std::expected<HubOptions, Failure> read_again(const CommandContext& context) const {
        const auto again = context.parse_again();
        if (!again) return std::unexpected(again.error());
        auto& wanted = static_cast<Node&>(**again);
        if (auto good = wanted.read(); !good) return std::unexpected(good.error());
        auto fixed = lanes_.fixed_differences(wanted.lanes_);
        if (wanted.port_ != port_) fixed.emplace_back("--port");
        if (fixed.empty()) return std::move(wanted.options_);
        return usage_failure(
            fmt::format("{}: while it runs, {} cannot change: nothing of the file is used until it is "
                        "restarted",
                        options_.file, fmt::join(fixed, ", ")));
    }

    Outcome read_port() {
        if (port_.starts_with("ib:")) {
            const auto link = verbs::parse_link(port_);
            if (!link) return usage_failure("node: " + link.error().what);
            options_.node->fabric = std::get<verbs::InfinibandLink>(*link);
            return {};
        }
        auto port = pmd::parse_device_spec(port_);
        if (!port) return usage_failure("node: " + port.error().what);
        options_.node->port = std::move(*port);
        return {};
    }

    Outcome read_addresses() {
        for (const auto& text : addresses_) {
            const bool fabric = options_.node->fabric.has_value();
            const auto address = fabric ? link::parse_ipoib_address(text) : link::parse_interface_address(text);
            if (!address || !link::usable(*address)) {
                return usage_failure(fmt::format("node: {} is no address such as 10.1.0.1/24 or fd00::1/64{}", text,
                                                 fabric ? ", or in a partition 10.8.0.1/24%0x8001" : ""));
            }
            options_.node->addresses.push_back(*address);
        }
        if (addresses_.size() <= hub::max_addresses) return {};
        return usage_failure(fmt::format("node: at most {} addresses", hub::max_addresses));
    }

    Outcome read_access() {
        if (group_.empty() && mode_.empty()) return {};
        hub::Access access{.group = getegid()};
        if (!group_.empty()) {
            const auto* const found = getgrnam(group_.c_str());
            if (found == nullptr) return usage_failure(fmt::format("node: there is no group {}", group_));
            access.group = found->gr_gid;
        }
        if (!mode_.empty()) {
            const auto* const end = mode_.data() + mode_.size();
            const auto [at, error] = std::from_chars(mode_.data(), end, access.mode, 8);
            if (error != std::errc() || at != end || access.mode > 0666) {
                return usage_failure(fmt::format("node: {} is no mode of a socket, such as 0660", mode_));
            }
        }
        options_.access = access;
        return {};
    }

    HubOptions options_;
    LaneOptions lanes_{options_, "node"};
    std::vector<std::string> addresses_;
    std::string port_, group_, mode_;
    CLI::Option* option_file_ = nullptr;  ///< of the app that has parsed it, while `run` runs
};

}  // namespace

std::unique_ptr<Command> make_node() {
    return std::make_unique<Node>();
}

}  // namespace verbline::cli
