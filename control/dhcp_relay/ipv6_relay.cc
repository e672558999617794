// SPDX-License-Identifier: BSD-3-Clause
#include "control/dhcp_relay/ipv6_relay.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "datapath/wire/append.h"

namespace verbline::dhcp {
namespace {

using wire::Bytes;
using wire::Dhcpv6Option;
using wire::Dhcpv6Options;
using wire::Dhcpv6Relay;
using wire::Ipv6Address;
namespace option6 = wire::dhcpv6_option;
namespace type6 = wire::dhcpv6_type;

void append_option(std::vector<std::byte>& message, std::uint16_t code, Bytes value) {
    wire::append(message, Dhcpv6Option{code, static_cast<std::uint16_t>(value.size())});
    message.insert(message.end(), value.begin(), value.end());
}

/// RFC 4649, 3: the number of who made up the identifier, then the identifier.
std::vector<std::byte> remote_id(std::uint32_t enterprise, Bytes name) {
    std::vector<std::byte> value(sizeof(enterprise));
    wire::store32(value, 0, enterprise);
    value.insert(value.end(), name.begin(), name.end());
    return value;
}

/// What only servers send to clients, or to relays.
bool is_from_server(std::uint8_t message) {
    return message == type6::advertise || message == type6::reply || message == type6::reconfigure ||
           message == type6::relay_reply;
}

/// Whether a reply may go there: to a host, neither the unspecified nor the loopback address (RFC 4291, 2.5).
bool is_host(const Ipv6Address& address) {
    const auto rest = std::span(address.bytes).first<15>();
    const bool special = std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; }) &&
                         address.bytes[15] <= std::byte{1};
    return !wire::is_multicast(address) && !special;
}

}  // namespace

Ipv6Relay::Ipv6Relay(const std::vector<RelayPort<Address>>& ports) : ports_(ports.begin(), ports.end()) {}

void Ipv6Relay::set_addresses(std::size_t port, std::vector<Address> addresses) {
    ports_[port].addresses = std::move(addresses);
}

void Ipv6Relay::set_servers(std::size_t port, std::vector<Address> servers) {
    ports_[port].config.servers = std::move(servers);
}

Ipv6Relay::Sends Ipv6Relay::received(const Received<Address>& datagram) {
    auto& counters = ports_[datagram.port].counters;
    const auto header = wire::Dhcpv6::parse(datagram.message);  // a relay's is longer
    if (!header) return dropped<Address>(counters.dhcpv6_relay_dropped_malformed);
    if (datagram.side == Side::link) {
        if (is_from_server(header->type)) return dropped<Address>(counters.dhcpv6_relay_dropped_type);
        return request(datagram, header->type);
    }
    if (header->type == type6::relay_reply) return reply(datagram);
    if (header->type == type6::relay_forward) return request(datagram, header->type);
    return dropped<Address>(counters.dhcpv6_relay_dropped_off_link);
}

/// RFC 8415, 19.1. Types that are not known are relayed as well (RFC 7283, 4).
Ipv6Relay::Sends Ipv6Relay::request(const Received<Address>& datagram, std::uint8_t message_type) {
    auto& port = ports_[datagram.port];
    auto& counters = port.counters;
    if (!is_host(datagram.source)) return dropped<Address>(counters.dhcpv6_relay_dropped_malformed);
    if (port.addresses.empty()) return dropped<Address>(counters.dhcpv6_relay_dropped_no_address);
    Dhcpv6Relay header{.link = port.addresses.front(), .peer = datagram.source};
    if (message_type == type6::relay_forward) {
        const auto inner = Dhcpv6Relay::parse(datagram.message);
        if (!inner) return dropped<Address>(counters.dhcpv6_relay_dropped_malformed);
        if (inner->hop_count >= hop_limit) return dropped<Address>(counters.dhcpv6_relay_dropped_hops);
        header.hop_count = static_cast<std::uint8_t>(inner->hop_count + 1);
        // The other relay's address tells where it is (19.1.2).
        if (!wire::is_link_local(datagram.source)) header.link = {};
    }
    const auto name = std::as_bytes(std::span(port.config.name));
    std::vector<std::byte> relayed;
    wire::append(relayed, header);
    append_option(relayed, option6::interface_id, name);
    if (port.config.enterprise != 0)
        append_option(relayed, option6::remote_id, remote_id(port.config.enterprise, name));
    const auto room = std::size_t{UINT16_MAX} - 8 - relayed.size() - Dhcpv6Option::size;
    if (datagram.message.size() > room) return dropped<Address>(counters.dhcpv6_relay_dropped_too_long);
    append_option(relayed, option6::relay_message, datagram.message);
    counters.dhcpv6_relay_requests.add();
    Sends out;
    for (const auto& server : port.config.servers)
        out.push_back({datagram.port, Side::network, server, wire::dhcpv6_server_port, relayed, true});
    return out;
}

std::optional<std::size_t> Ipv6Relay::port_of(const Dhcpv6Relay& header, const Dhcpv6Options& options) const {
    const auto id = options.find(option6::interface_id);
    const auto port = std::ranges::find_if(ports_, [&](const Port& each) {
        if (!each.serves()) return false;
        if (id) return std::ranges::equal(*id, std::as_bytes(std::span(each.config.name)));
        return each.has(header.link);
    });
    if (port == ports_.end()) return std::nullopt;
    return static_cast<std::size_t>(port - ports_.begin());
}

/// RFC 8415, 19.2.
Ipv6Relay::Sends Ipv6Relay::reply(const Received<Address>& datagram) {
    auto& arrival = ports_[datagram.port].counters;
    const auto header = Dhcpv6Relay::parse(datagram.message);
    if (!header || !is_host(header->peer)) return dropped<Address>(arrival.dhcpv6_relay_dropped_malformed);
    const auto options = Dhcpv6Options::parse(datagram.message.subspan(Dhcpv6Relay::size));
    if (!options) return dropped<Address>(arrival.dhcpv6_relay_dropped_malformed);
    const auto inner = options->find(option6::relay_message);
    if (!inner || inner->empty()) return dropped<Address>(arrival.dhcpv6_relay_dropped_malformed);
    const auto number = port_of(*header, *options);
    if (!number) return dropped<Address>(arrival.dhcpv6_relay_dropped_unknown_link);
    auto& port = ports_[*number];
    if (!port.relays_to(datagram.source)) return dropped<Address>(port.counters.dhcpv6_relay_dropped_unknown_server);

    const bool to_relay = wire::load8(*inner, 0) == type6::relay_reply;
    port.counters.dhcpv6_relay_replies.add();
    return {{*number, wire::is_link_local(header->peer) ? Side::link : Side::network, header->peer,
             to_relay ? wire::dhcpv6_server_port : wire::dhcpv6_client_port,
             std::vector<std::byte>(inner->begin(), inner->end())}};
}

void Ipv6Relay::not_sent(const Send<Address>& datagram) {
    auto& counters = ports_[datagram.port].counters;
    (datagram.to_server ? counters.dhcpv6_relay_dropped_no_server : counters.dhcpv6_relay_dropped_not_sent).add();
}

}  // namespace verbline::dhcp
