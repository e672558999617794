// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/gateway.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/gateway/process.h"

namespace verbline::cli {
namespace {

class Gateway final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "gateway",
            .summary = "route IPv4 and IPv6 between Ethernet and IPoIB networks",
            .synopsis = "CONFIG.toml [--capture FILE] [--check]",
            .description =
                {"Routes IPv4 and IPv6 between the ports of the configuration file. Each port has an interface of the "
                 "same name in the kernel, through which ping, ssh and routing daemons reach the gateway itself; "
                 "routes that a daemon puts there are followed. Several ports may be VLANs or partitions of one "
                 "device, "
                 "and ports of one subnet may answer for each other's hosts (proxy ARP and ND). DHCP requests of a "
                 "port's hosts can be relayed to servers elsewhere.",
                 "Prints a line that ends in `ready` when traffic can flow, and runs until SIGINT or SIGTERM. "
                 "Meanwhile `verbline show` prints its state.",
                 "On SIGHUP it reads the file again. Addresses, virtual ones as well, routes, packet programs, DHCP "
                 "relays, router advertisements (advertise), checks of packets (reverse_path, clamp_mss), multicast, "
                 "proxy ARP and ND (proxy), captures and impairments of ports change without an effect on other "
                 "traffic; if anything else differs, nothing is changed, and one line says what needs a restart.",
                 "A port may have a packet program, an eBPF object that passes, drops or forwards what the port "
                 "receives; `verbline program` explains them.",
                 "systemd runs it as verbline-gateway@NAME, with /etc/verbline/NAME.toml; it is told when the gateway "
                 "is ready and what it does, and restarts one whose shards stand still.",
                 "A wrong configuration is one line, FILE:LINE: reason, and exit status 2. The file's keys are "
                 "explained in config/gateway.toml, those of IPoIB over RoCE in config/roce.toml."},
            .examples = {{"verbline gateway --check gateway.toml", "check the file, and start nothing"},
                         {"verbline gateway gateway.toml --capture gw.pcapng",
                          "run, and write all packets and MADs to a file"}},
            .see_also = {"verbline-gateway@.service(8)", "verbline-show(1)", "verbline-program(1)", "verbline-host(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("CONFIG.toml", file_, "the configuration")->required();
        app.add_option("--capture", capture_, "write packets of all ports, and MADs, to a pcapng file")
            ->type_name("FILE");
        app.add_flag("--check", check_, "check the configuration and start nothing");
    }

    Outcome run(const CommandContext& context) override {
        auto config = load_config(file_);
        if (!config) return std::unexpected(Failure{Failure::usage, config.error().what});
        if (!check_)
            return run_gateway({.config = std::move(*config),
                                .file = file_,
                                .read_again = [this] { return read_again(); },
                                .eal_arguments = context.eal_arguments,
                                .capture = capture_});
        fmt::print("{}: {} ports, {} routes, no errors\n", file_, config->ports.size(), config->routes.size());
        return {};
    }

private:
    std::expected<GatewayConfig, Failure> read_again() const {
        auto config = load_config(file_);
        if (!config) return usage_failure(config.error().what);
        return std::move(*config);
    }

    std::string file_;
    std::string capture_;
    bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> make_gateway() {
    return std::make_unique<Gateway>();
}

}  // namespace verbline::cli
