// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/dhcp_relays.h"

#include <algorithm>
#include <utility>

#include "datapath/link/ip_gid.h"

namespace verbline::gateway {
namespace {

template <class Service>
Result<std::unique_ptr<Service>> open_service(control::Loop& loop, const GatewayConfig& config,
                                              std::vector<typename Service::Address> PortConfig::* servers,
                                              const std::function<void(const std::string&)>& on_trouble) {
    typename Service::Setup setup{.netns = config.netns, .ports = {}, .on_trouble = on_trouble};
    for (const auto& port : config.ports) setup.ports.push_back({port.name, port.*servers, config.dhcpv6_enterprise});
    return Service::open(loop, std::move(setup));
}

template <class Service>
Result<void> prepare_port(Service& service, std::size_t port, const std::vector<typename Service::Address>& servers,
                          std::vector<typename Service::Prepared>& prepared) {
    auto next = service.prepare(port, servers);
    if (!next) return std::unexpected(std::move(next.error()));
    prepared.push_back(std::move(*next));
    return {};
}

}  // namespace

Result<DhcpRelays> DhcpRelays::open(control::Loop& loop, const GatewayConfig& config,
                                    std::function<void(const std::string& line)> on_trouble) {
    DhcpRelays relays(config);
    auto ipv4 = open_service<dhcp::Ipv4RelayService>(loop, config, &PortConfig::dhcp_relay, on_trouble);
    if (!ipv4) return std::unexpected(std::move(ipv4.error()));
    auto ipv6 = open_service<dhcp::Ipv6RelayService>(loop, config, &PortConfig::dhcpv6_relay, on_trouble);
    if (!ipv6) return std::unexpected(std::move(ipv6.error()));
    relays.ipv4_ = std::move(*ipv4);
    relays.ipv6_ = std::move(*ipv6);
    return relays;
}

Result<DhcpRelays::Prepared> DhcpRelays::prepare(const Changes& changes, const GatewayConfig& running,
                                                 const GatewayConfig& wanted) {
    Prepared prepared;
    for (const auto& [port, setting] : changes.settings) {
        const auto& config = *find_port(wanted, running.ports[port].name);
        Result<void> done;
        if (setting == Setting::dhcp_relay) done = prepare_port(*ipv4_, port, config.dhcp_relay, prepared.ipv4);
        if (setting == Setting::dhcpv6_relay) done = prepare_port(*ipv6_, port, config.dhcpv6_relay, prepared.ipv6);
        if (done) continue;
        const auto line = setting == Setting::dhcp_relay ? config.lines.dhcp_relay : config.lines.dhcpv6_relay;
        return std::unexpected(config_error(wanted.file, line, std::move(done.error().what)));
    }
    return prepared;
}

void DhcpRelays::use(Prepared prepared) {
    for (auto& each : prepared.ipv4) ipv4_->use(std::move(each));
    for (auto& each : prepared.ipv6) ipv6_->use(std::move(each));
}

void DhcpRelays::set_addresses(forward::InterfaceId port, const std::vector<link::InterfaceAddress>& addresses) {
    const auto number = static_cast<std::size_t>(port);
    const auto& shared = config_->ports[number].virtual_addresses;
    const auto is_shared = [&](const wire::Gid& gid) { return std::ranges::find(shared, gid) != shared.end(); };
    std::vector<wire::Ipv4Address> ipv4;
    std::vector<wire::Ipv6Address> ipv6;
    for (const bool wanted : {false, true}) {
        for (const auto& [gid, length, pkey] : addresses) {
            if (is_shared(gid) != wanted) continue;
            if (const auto address = link::ipv4_of(gid))
                ipv4.push_back(*address);
            else if (!wire::is_link_local(link::ipv6_of(gid)))
                ipv6.push_back(link::ipv6_of(gid));
        }
    }
    ipv4_->set_addresses(number, ipv4);
    ipv6_->set_addresses(number, ipv6);
}

void DhcpRelays::counters(forward::InterfaceId port, const CounterVisitor& visit) const {
    const auto number = static_cast<std::size_t>(port);
    if (ipv4_->serves(number)) ipv4_->counters(number, visit);
    if (ipv6_->serves(number)) ipv6_->counters(number, visit);
}

}  // namespace verbline::gateway
