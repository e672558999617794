// SPDX-License-Identifier: BSD-3-Clause
#include "control/dhcp_relay/ipv4_relay.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "datapath/wire/header.h"

namespace verbline::dhcp {
namespace {

using wire::Bytes;
using wire::Dhcp;
using wire::DhcpOptions;
using wire::Ipv4Address;
namespace option = wire::dhcp_option;

constexpr Ipv4Address all_hosts{0xffff'ffff};

/// Option 82 with the port's name as its circuit id.
std::vector<std::byte> relay_option(std::string_view name) {
    const auto size = static_cast<std::uint8_t>(name.size());
    std::vector<std::byte> out(4 + name.size());
    wire::store8(out, 0, option::relay_agent);
    wire::store8(out, 1, size + 2u);
    wire::store8(out, 2, option::circuit_id);
    wire::store8(out, 3, size);
    std::ranges::copy(std::as_bytes(std::span(name)), out.begin() + 4);
    return out;
}

/// Puts `added` behind the last option (RFC 3046, 2.1). All else stays as it is, pads too: RFC 3118 signs them.
std::vector<std::byte> with_option(std::vector<std::byte> message, const DhcpOptions& options,
                                   const std::vector<std::byte>& added) {
    const auto end = Dhcp::size + options.size();
    const bool ended = message.size() > end;
    message.insert(message.begin() + static_cast<std::ptrdiff_t>(end), added.begin(), added.end());
    if (!ended) message.push_back(std::byte{option::end});
    return message;
}

/// The message without option 82, and still as long as a receiver may expect.
std::vector<std::byte> without_relay_option(Bytes message, const DhcpOptions& options) {
    std::vector<std::byte> out;
    std::size_t copied = 0;
    const auto copy_to = [&](std::size_t end) {
        const auto part = message.subspan(copied, end - copied);
        out.insert(out.end(), part.begin(), part.end());
    };
    options.each([&](const DhcpOptions::Option& each) {
        if (each.code != option::relay_agent) return;
        copy_to(Dhcp::size + each.at);
        copied = Dhcp::size + each.at + each.size;
    });
    copy_to(message.size());
    if (out.size() < message.size()) out.resize(std::max(out.size(), Dhcp::smallest_message));
    return out;
}

bool names(const std::optional<Bytes>& circuit, std::string_view name) {
    return circuit && std::ranges::equal(*circuit, std::as_bytes(std::span(name)));
}

}  // namespace

Ipv4Relay::Ipv4Relay(const std::vector<RelayPort<Address>>& ports) : ports_(ports.begin(), ports.end()) {}

void Ipv4Relay::set_addresses(std::size_t port, std::vector<Address> addresses) {
    ports_[port].addresses = std::move(addresses);
}

void Ipv4Relay::set_servers(std::size_t port, std::vector<Address> servers) {
    ports_[port].config.servers = std::move(servers);
}

bool Ipv4Relay::is_own(Address address) const {
    return std::ranges::any_of(ports_, [&](const Port& port) { return port.has(address); });
}

Ipv4Relay::Sends Ipv4Relay::received(const Received<Address>& datagram) {
    auto& counters = ports_[datagram.port].counters;
    const auto header = Dhcp::parse(datagram.message);
    if (!header) return dropped<Address>(counters.dhcp_relay_dropped_malformed);
    const auto options = DhcpOptions::parse(datagram.message.subspan(Dhcp::size));
    if (!options) return dropped<Address>(counters.dhcp_relay_dropped_malformed);
    switch (header->op) {
        case wire::DhcpOp::request: return request(datagram, *header, *options);
        case wire::DhcpOp::reply: return reply(datagram, *header, *options);
    }
    return dropped<Address>(counters.dhcp_relay_dropped_malformed);
}

/// RFC 1542, 4.1.1.
Ipv4Relay::Sends Ipv4Relay::request(const Received<Address>& datagram, const Dhcp& header, const DhcpOptions& options) {
    auto& port = ports_[datagram.port];
    auto& counters = port.counters;
    const auto& message = datagram.message;
    const bool first = header.relay == Address{};  // else another relay is nearer to the client
    if (header.hops > hop_limit) return dropped<Address>(counters.dhcp_relay_dropped_hops);
    if (first && datagram.side != Side::link) return dropped<Address>(counters.dhcp_relay_dropped_off_link);
    if (first && options.find(option::relay_agent)) return dropped<Address>(counters.dhcp_relay_dropped_option82);
    if (!first && is_own(header.relay)) return dropped<Address>(counters.dhcp_relay_dropped_own_giaddr);
    if (port.addresses.empty()) return dropped<Address>(counters.dhcp_relay_dropped_no_address);

    std::vector<std::byte> relayed(message.begin(), message.end());
    const auto view = wire::View<Dhcp, std::byte>::of(std::span(relayed).first<Dhcp::size>());
    view.set<&Dhcp::hops>(static_cast<std::uint8_t>(header.hops + 1));
    if (first) {
        view.set<&Dhcp::relay>(port.addresses.front());
        auto longer = with_option(relayed, options, relay_option(port.config.name));
        if (longer.size() <= largest_with_option) {
            relayed = std::move(longer);
        } else {
            counters.dhcp_relay_requests_without_option82.add();
        }
    }
    counters.dhcp_relay_requests.add();
    Sends out;
    for (const auto server : port.config.servers)
        out.push_back({datagram.port, Side::network, server, wire::dhcp_server_port, relayed, true});
    return out;
}

/// RFC 1542, 4.1.2.
Ipv4Relay::Sends Ipv4Relay::reply(const Received<Address>& datagram, const Dhcp& header, const DhcpOptions& options) {
    auto& arrival = ports_[datagram.port].counters;
    if (datagram.side != Side::network) return dropped<Address>(arrival.dhcp_relay_dropped_stray_reply);
    const auto port =
        std::ranges::find_if(ports_, [&](const Port& each) { return each.serves() && each.has(header.relay); });
    if (port == ports_.end()) return dropped<Address>(arrival.dhcp_relay_dropped_unknown_giaddr);
    if (!port->relays_to(datagram.source)) return dropped<Address>(port->counters.dhcp_relay_dropped_unknown_server);
    // A server need not return it.
    const auto returned = options.find(option::relay_agent);
    if (returned && !names(wire::relay_agent_part(*returned, option::circuit_id), port->config.name))
        return dropped<Address>(port->counters.dhcp_relay_dropped_option82);
    port->counters.dhcp_relay_replies.add();
    const auto number = static_cast<std::size_t>(port - ports_.begin());
    return {{number, Side::link, all_hosts, wire::dhcp_client_port, without_relay_option(datagram.message, options)}};
}

void Ipv4Relay::not_sent(const Send<Address>& datagram) {
    auto& counters = ports_[datagram.port].counters;
    (datagram.to_server ? counters.dhcp_relay_dropped_no_server : counters.dhcp_relay_dropped_not_sent).add();
}

}  // namespace verbline::dhcp
