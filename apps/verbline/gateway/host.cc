// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/host.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/command_line/option_file.h"
#include "apps/verbline/gateway/process.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

class Host final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "host",
            .summary = "give this host or a network namespace an IPoIB interface",
            .synopsis =
                "IFNAME {--sm SM | --link roce_v2} --device DEVICE --address CIDR [--mode MODE] "
                "[--backup-device DEVICE --backup-sm SM] [--netns NS] [--mtu N] [--pkey P] [--name N] [--capture FILE] "
                "[--impair SPEC]\n--config FILE",
            .description =
                {"Makes an interface whose packets travel as IPoIB (RFC 4391) and runs until SIGINT or SIGTERM. The "
                 "interface takes checksum and segmentation offload from the kernel.",
                 "SM is where the subnet manager is reached: ibsim:FABRIC,host=NODE for a simulated fabric, "
                 "umad:DEVICE,port=N for an adapter. DEVICE is what carries the packets: memif:SOCKET[,server], "
                 "tap:IFNAME[,netns=NS][,queues=N], hca:NAME/PORT for a port of an RDMA adapter, such as hca:mlx5_0/1, "
                 "or dpdk:DEVARGS for any DPDK port.",
                 "With --link roce_v2 the link is Ethernet, which has no subnet manager, and DEVICE may also be "
                 "eth:IFNAME, or an adapter's port for RoCE.",
                 "With --mode connected packets of up to 65520 bytes travel on connections (RFC 4755) to neighbours "
                 "that have them; others, and groups, get datagrams of up to 2044. InfiniBand without an adapter only.",
                 "--backup-device and --backup-sm are another port of the fabric, or of another, which is used while "
                 "the first has no link or its port is down: addresses, neighbours and groups go with it. The first "
                 "is taken again when it has worked for ten seconds.",
                 "On SIGHUP a file of --config is read again: addresses change without an effect on other traffic, and "
                 "the impairment does. If it has a mistake, or another option has changed, nothing changes, and one "
                 "line says why.",
                 "Prints a line that ends in `ready` when traffic can flow."},
            .examples = {{"verbline host ib0 --sm ibsim:vl,host=H3 --device memif:/run/a.sock --address 10.2.0.2/24 "
                          "--netns ib-a",
                          "an interface ib0 in the network namespace ib-a, on the simulated fabric vl"},
                         {"verbline host ib0 --sm umad:mlx5_0,port=1 --device hca:mlx5_0/1 --address 10.2.0.2/24",
                          "on the subnet of an InfiniBand adapter's port"},
                         {"verbline host ib0 --link roce_v2 --device hca:rxe0/1 --address 10.2.0.3/24",
                          "over RoCE v2 of the kernel's soft adapter"},
                         {"verbline host --config host.toml",
                          "the same from a file, as the service verbline-host@ does"}},
            .see_also = {"verbline-host@.service(8)", "verbline-gateway(1)", "verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("IFNAME", port_.name, "the interface to make, e.g. ib0")->required();
        app.add_option("--sm", port_.sm, "where the subnet manager is reached")->type_name("SM");
        app.add_option("--link", link_, "infiniband, or roce_v2 for a link without a subnet manager")
            ->check(CLI::IsMember({"infiniband", "roce_v2"}))
            ->type_name("LINK");
        app.add_option("--mode", mode_, "datagram, or connected for packets of up to 65520 bytes")
            ->check(CLI::IsMember({"datagram", "connected"}))
            ->type_name("MODE");
        app.add_option("--device", port_.devices, "what carries the packets; several are joined by a software switch")
            ->required()
            ->expected(1)
            ->take_all()
            ->type_name("DEVICE");
        app.add_option("--backup-device", port_.backup_devices, "what carries the packets while --device does not")
            ->expected(1)
            ->take_all()
            ->type_name("DEVICE");
        app.add_option("--backup-sm", port_.backup_sm, "where the subnet manager is reached by it")->type_name("SM");
        app.add_option("--address", addresses_,
                       "the interface's address, e.g. 10.2.0.2/24 or fd76:2::2/64; may be repeated")
            ->required()
            ->expected(1)
            ->take_all()
            ->type_name("CIDR");
        app.add_option("--netns", netns_, "the network namespace of the interface; without it, this one")
            ->type_name("NS");
        app.add_option("--mtu", port_.mtu,
                       "of the interface; without it, 2044, over RoCE 1020, in connected mode 65520")
            ->type_name("N");
        app.add_option("--pkey", pkey_, "the partition; without it, 0xffff")->type_name("P");
        app.add_option("--name", name_, "the instance, for verbline show; without it, NS or IFNAME")->type_name("N");
        app.add_option("--capture", capture_, "write packets and MADs to a pcapng file")->type_name("FILE");
        app.add_option("--impair", port_.impair, "worsen the link, e.g. loss=0.01,seed=7")->type_name("SPEC");
        option_file_ = add_option_file(app);
    }

    Outcome run(const CommandContext& context) override {
        auto config = read();
        if (!config) return std::unexpected(config.error());
        GatewayOptions options{.config = std::move(*config),
                               .eal_arguments = context.eal_arguments,
                               .capture = capture_,
                               .deliver_all_to_kernel = true};
        if (option_file_->count() > 0) {
            options.file = option_file_->as<std::string>();
            options.read_again = [&context]() -> std::expected<GatewayConfig, Failure> {
                const auto again = context.parse_again();
                if (!again) return std::unexpected(again.error());
                return static_cast<Host&>(**again).read();
            };
        }
        return run_gateway(options);
    }

private:
    /// After parsing: what the options say.
    std::expected<GatewayConfig, Failure> read() {
        port_.type = PortType::ipoib;
        if (link_ == "roce_v2") port_.link = IpoibLink::roce_v2;
        port_.connected = mode_ == "connected";
        if (port_.mtu == 0) port_.mtu = usual_mtu(port_);
        if (!pkey_.empty()) {
            const auto pkey = wire::from_string<wire::PKey>(pkey_);
            if (!pkey) return usage_failure(fmt::format("host: {} is no P_Key such as 0x8001", pkey_));
            port_.pkey = *pkey;
        }
        for (const auto& text : addresses_) {
            const auto address = parse_interface_address(text);
            if (!address) return usage_failure("host: " + address.error().what);
            port_.addresses.push_back(*address);
        }
        GatewayConfig config{.file = "", .name = name_, .netns = netns_, .ports = {port_}, .routes = {}};
        if (config.name.empty()) config.name = netns_.empty() ? port_.name : netns_;
        if (const auto good = check_config(config); !good) return usage_failure("host: " + good.error().what);
        return config;
    }

    PortConfig port_{.type = PortType::ipoib, .mtu = 0, .lines = {}};
    std::vector<std::string> addresses_;
    std::string link_, mode_, netns_, pkey_, name_, capture_;
    CLI::Option* option_file_ = nullptr;  ///< of the app that has parsed it, while `run` runs
};

}  // namespace

std::unique_ptr<Command> make_host() {
    return std::make_unique<Host>();
}

}  // namespace verbline::cli
