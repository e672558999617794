// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/options.h"

#include <algorithm>
#include <span>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/environment/command_line.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/text.h"

namespace verbline::rdma_ping {
namespace {

Result<wire::Gid> parse_ip(const std::string& text) {
    if (const auto v4 = wire::from_string<wire::Ipv4Address>(text)) return link::gid_of(*v4);
    if (const auto v6 = wire::from_string<wire::Gid>(text); v6 && *v6 != wire::Gid{} && !v6->multicast()) return *v6;
    return failure(EINVAL, fmt::format("--ip: {} is no IPv4 or IPv6 address of a port", text));
}

Result<wire::Lid> parse_lid(const std::string& text) {
    const auto lid = wire::from_string<wire::Lid>(text);
    if (lid && *lid != wire::Lid{} && *lid < wire::first_multicast_lid) return *lid;
    return failure(EINVAL, fmt::format("--lid: {} is no port's LID; those are 1 to 0xbfff", text));
}

/// Options that need parsing of their own.
struct Texts {
    std::string device, impair, ip, lid, roce = "v2";
};

/// EINVAL: names the option and its correct form.
Result<void> resolve(const Texts& texts, Options& options) {
    auto device = pmd::parse_device_spec(texts.device);
    if (!device) return std::unexpected(device.error());
    options.device = std::move(*device);
    if (!texts.impair.empty()) {
        const auto impair = pmd::parse_impairments(texts.impair);
        if (!impair) return std::unexpected(impair.error());
        options.impair = *impair;
    }
    if (texts.ip.empty() == texts.lid.empty()) {
        return failure(EINVAL, "give --ip for RoCE, or --lid for the soft fabric");
    }
    if (texts.ip.empty()) {
        const auto lid = parse_lid(texts.lid);
        if (!lid) return std::unexpected(lid.error());
        options.carrier = link::GidType::ib, options.lid = *lid;
        options.gid = link::link_local_gid(options.mac());
    } else {
        const auto gid = parse_ip(texts.ip);
        if (!gid) return std::unexpected(gid.error());
        options.carrier = texts.roce == "v1" ? link::GidType::roce_v1 : link::GidType::roce_v2, options.gid = *gid;
    }
    return {};
}

}  // namespace

wire::MacAddress Options::mac() const {
    if (carrier == link::GidType::ib) return link::soft_ib::mac_of(lid);
    wire::MacAddress mac{{std::byte{2}}};
    std::ranges::copy(std::span(gid.bytes).last<4>(), mac.bytes.begin() + 2);
    return mac;
}

Result<std::optional<Options>> parse_options(int argc, const char* const* argv) {
    Options options;
    Texts texts;
    CLI::App app(
        "RC SENDs to and fro between two processes, then a WRITE and a READ, every byte compared. Start the server\n"
        "first, without SERVER; both ends exchange their queue pair numbers over TCP. With EAL arguments in front, as\n"
        "in `-l 0-2 --`, each lcore but the first polls a shard of the device, over which the queue pairs are spread.",
        "rdma_ping");
    app.add_option("SERVER", options.server, "host name or address of the server, for the numbers only");
    app.add_option("--device", texts.device, "memif:SOCKET[,server], tap:IFNAME or dpdk:DEVARGS")->required();
    auto* const ip_option = app.add_option("--ip", texts.ip, "our IPv4 or IPv6 address: RoCE");
    app.add_option("--lid", texts.lid, "our LID: the soft InfiniBand fabric")->excludes(ip_option);
    app.add_option("--roce", texts.roce, "v1 or v2; without it, v2")->check(CLI::IsMember({"v1", "v2"}));
    app.add_option("--mtu", options.mtu, "path MTU; without it, 1024")
        ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}));
    app.add_option("--count", options.count, "client: how many pings; without it, 10")->check(CLI::Range(1, 1'000'000));
    app.add_option("--size", options.size, "client: bytes of each; without it, 64")
        ->check(CLI::Range(std::uint32_t{1}, max_size));
    app.add_option("--qps", options.qps, "queue pairs that ping beside each other, at both ends; without it, 1")
        ->check(CLI::Range(std::uint32_t{1}, max_qps));
    app.add_option("--tcp-port", options.tcp_port, "where the server listens; without it, 18515");
    app.add_option("--capture", options.capture, "write all frames to a pcapng file");
    app.add_option("--impair", texts.impair, "worsen the link, e.g. loss=0.01,seed=7");
    auto eal = parse_command_line(app, argc, argv);
    if (!eal) return std::unexpected(eal.error());
    if (!*eal) return std::nullopt;
    options.eal = std::move(**eal);
    if (auto resolved = resolve(texts, options); !resolved) return std::unexpected(resolved.error());
    return options;
}

}  // namespace verbline::rdma_ping
