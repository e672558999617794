// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/hub.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/hub/hub_process.h"
#include "apps/verbline/hub/lane_options.h"
#include "control/hub/protocol.h"
#include "control/hub/registry.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

class Hub final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "hub",
            .summary = "join RDMA programs on this machine by a software switch",
            .synopsis =
                "NAME [--uplink DEVICE]... [--subnet CIDR]... [--router ADDRESS]... [--mtu N] "
                "[--user-lanes N] [--user-groups N] [--user-ports N] [--user-direct N] [--lane-groups N] [--lane-ports "
                "N] [--no-direct] [--capture FILE] [--impair SPEC]",
            .description =
                {"Gives each program that joins (verbline run --link hub:NAME) a lane of its own: shared memory, a MAC "
                 "address and IP addresses, free again the moment the program ends, however it ends. Runs until SIGINT "
                 "or SIGTERM, as any user; prints a line that ends in `ready` when programs can join.",
                 "A program that names no address gets one of each subnet: without --subnet, of 10.99.0.0/16 and "
                 "fd76:6572:b11e::/64. Multicast goes to the programs that joined the group, or to all if none has.",
                 "An uplink connects the hub with a network: eth:IFNAME, tap:IFNAME, memif:SOCKET[,server], or "
                 "dpdk:DEVARGS, any port of DPDK: a PCI address, or AF_XDP by net_af_xdp0,iface=IFNAME where that "
                 "driver is installed.",
                 "A program may send from the addresses of its lane only: frames with another source, ARP and "
                 "Neighbour Discovery on behalf of others are dropped and counted (rx_dropped_source_ip, _arp, _nd in "
                 "verbline show NAME counters). A program that routes or bridges for others needs --router with an "
                 "address of its lane, or --router any, which trusts all.",
                 "Two programs of the same user that talk to each other get shared memory of their own for it, so that "
                 "their unicast packets need not wait for the hub; it does not see, count or check those. With "
                 "--no-direct they all go through the hub, and so do all with --capture, --impair or --router any, and "
                 "those of a router.",
                 "The hub forwards on one thread; with EAL arguments in front, on each lcore of -l but the first: each "
                 "has "
                 "its part of the lanes, and verbline show NAME shards says how busy it is.",
                 "--impair worsens each lane, so that a frame from one program to another meets it twice."},
            .examples = {{"verbline hub default", "the hub that verbline run uses by default"},
                         {"verbline hub lab --uplink eth:eth1 --subnet 192.168.7.0/24",
                          "programs take part in the network behind eth1"},
                         {"verbline show lab hub", "who has which address, and what they carry"},
                         {"verbline -l 0-2 -- hub big", "a hub that forwards on two cores"}},
            .see_also = {"verbline-run(1)", "verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("--uplink", uplinks_, "a network to connect with; may be repeated")
            ->expected(1)
            ->take_all()
            ->type_name("DEVICE");
        app.add_option("--subnet", subnets_, "where addresses are taken from; may be repeated")
            ->expected(1)
            ->take_all()
            ->type_name("CIDR");
        app.add_option("--router", routers_,
                       "the lane with this address may send from any; `any`: every lane may; may be repeated")
            ->expected(1)
            ->take_all()
            ->type_name("ADDRESS");
        lanes_.declare(app);
        app.add_option("--capture", options_.capture, "write every frame to a pcapng file")->type_name("FILE");
    }

    Outcome run(const CommandContext& context) override {
        if (auto good = lanes_.read(); !good) return good;
        for (const auto& check : {&Hub::read_uplinks, &Hub::read_subnets, &Hub::read_routers}) {
            if (auto good = (this->*check)(); !good) return good;
        }
        options_.eal_arguments = context.eal_arguments;
        return run_hub(options_);
    }

private:
    Outcome read_uplinks() {
        for (const auto& text : uplinks_) {
            auto spec = pmd::parse_device_spec(text);
            if (!spec) return usage_failure("hub: " + spec.error().what);
            options_.uplinks.push_back(std::move(*spec));
        }
        return {};
    }
    Outcome read_subnets() {
        for (const auto& text : subnets_) {
            const auto subnet = link::parse_interface_address(text);
            if (!subnet) return usage_failure(fmt::format("hub: {} is no network such as 10.99.0.0/16", text));
            options_.subnets.push_back(link::network_of(*subnet));
        }
        if (subnets_.empty()) options_.subnets = hub::default_subnets();
        if (options_.subnets.size() <= hub::max_addresses) return {};
        return usage_failure(fmt::format("hub: at most {} subnets", hub::max_addresses));
    }
    Outcome read_routers() {
        for (const auto& text : routers_) {
            if (text == "any") {
                options_.any_source = true;
            } else if (const auto ipv4 = wire::from_string<wire::Ipv4Address>(text)) {
                options_.routers.push_back(link::gid_of(*ipv4));
            } else if (const auto gid = wire::from_string<wire::Gid>(text)) {
                options_.routers.push_back(*gid);
            } else {
                return usage_failure(fmt::format("hub: {} is no address; give one such as 10.99.0.1, or `any`", text));
            }
        }
        return {};
    }

    HubOptions options_;
    LaneOptions lanes_{options_, "hub"};
    std::vector<std::string> uplinks_, subnets_, routers_;
};

}  // namespace

std::unique_ptr<Command> make_hub() {
    return std::make_unique<Hub>();
}

}  // namespace verbline::cli
