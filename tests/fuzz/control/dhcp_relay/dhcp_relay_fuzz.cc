// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any datagrams to the relay agents of both families, on any port, from either side: what goes to servers and clients
/// can be read there, is bounded by what came, and each datagram is either relayed or counted as dropped. A request
/// that a server answers with the same options comes back to the client as it was.

#include <algorithm>
#include <string_view>
#include <vector>

#include "control/dhcp_relay/ipv4_relay.h"
#include "control/dhcp_relay/ipv6_relay.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using dhcp::Ipv4Relay, dhcp::Ipv6Relay, dhcp::Side;
using fuzz::expect;
using wire::Bytes;

constexpr std::size_t ports = 3;
constexpr std::size_t longest_name = 3;

/// Datagrams that were relayed, and those that were dropped.
template <class Relay>
std::pair<std::uint64_t, std::uint64_t> totals(const Relay& relay) {
    std::uint64_t relayed = 0, dropped = 0;
    for (std::size_t port = 0; port < ports; ++port) {
        relay.counters(port, [&](std::string_view name, std::uint64_t value, std::string_view) {
            if (name.ends_with("_relay_requests") || name.ends_with("_relay_replies")) relayed += value;
            if (name.find("_dropped_") != name.npos) dropped += value;
        });
    }
    return {relayed, dropped};
}

template <class Relay>
class World {
public:
    using Address = typename Relay::Address;
    using Sends = typename Relay::Sends;

    World(Address first, Address second, Address server)
        : relay_({{"lan", {server}, 32'473}, {"ib0", {server, server}}, {"off", {}}}) {
        relay_.set_addresses(0, {first});
        relay_.set_addresses(1, {second, first});
    }

    Sends receive(std::size_t port, Side side, const Address& from, Bytes message) {
        const auto [relayed, dropped] = totals(relay_);
        auto sends = relay_.received({port, side, from, message});
        const auto [relayed_now, dropped_now] = totals(relay_);
        expect(relayed_now + dropped_now == relayed + dropped + 1);
        // A port without servers relays to none of them.
        expect(sends.empty() == (relayed_now == relayed) || port == 2);
        for (const auto& each : sends) {
            expect(each.port < ports);
            if (each.to_server) expect(each.side == Side::network && each.port == port);
        }
        return sends;
    }

private:
    Relay relay_;
};

class Ipv4World : public World<Ipv4Relay> {
public:
    static constexpr auto server = wire::ipv4(10, 9, 0, 2);

    Ipv4World() : World(wire::ipv4(10, 1, 0, 1), wire::ipv4(10, 2, 0, 1), server) {}

    void play(std::size_t port, Side side, Bytes message) {
        for (const auto& each : receive(port, side, server, message)) {
            const auto header = wire::Dhcp::parse(each.message);
            expect(header && wire::DhcpOptions::parse(Bytes(each.message).subspan(wire::Dhcp::size)));
            if (!each.to_server) {
                expect(each.message.size() <= std::max(message.size(), wire::Dhcp::smallest_message));
                expect(!wire::DhcpOptions::parse(Bytes(each.message).subspan(wire::Dhcp::size))
                            ->find(wire::dhcp_option::relay_agent));
                continue;
            }
            expect(each.message.size() <= message.size() + 4 + longest_name + 1);
            answer(*header, each, message);
        }
    }

private:
    /// The server returns all options.
    void answer(const wire::Dhcp& header, const dhcp::Send<wire::Ipv4Address>& request, Bytes sent) {
        if (wire::Dhcp::parse(sent)->relay != wire::Ipv4Address{}) return;
        auto reply = request.message;
        reply[0] = std::byte{static_cast<std::uint8_t>(wire::DhcpOp::reply)};
        const auto back = receive(request.port, Side::network, server, reply);
        expect(back.size() == 1 && !back[0].to_server && header.relay != wire::Ipv4Address{});
        const auto options = [](Bytes message) { return message.subspan(wire::Dhcp::size); };
        const auto before = options(sent), after = options(back[0].message);
        const auto size = wire::DhcpOptions::parse(before)->size();
        expect(std::ranges::equal(before.first(size), after.first(size)));
    }
};

class Ipv6World : public World<Ipv6Relay> {
public:
    Ipv6World() : World(global(1), global(2), server()) {}

    void play(std::size_t port, Side side, Bytes message) {
        const auto from = side == Side::link ? host() : server();
        for (const auto& each : receive(port, side, from, message)) {
            if (!each.to_server) {
                expect(!each.message.empty() && each.message.size() < message.size());
                continue;
            }
            const auto header = wire::Dhcpv6Relay::parse(each.message);
            expect(header && header->hop_count <= Ipv6Relay::hop_limit && header->peer == from);
            auto reply = each.message;
            reply[0] = std::byte{wire::dhcpv6_type::relay_reply};
            const auto back = receive(each.port, Side::network, server(), reply);
            expect(back.size() == 1 && back[0].port == port && back[0].destination == from);
            expect(std::ranges::equal(back[0].message, message));
        }
    }

private:
    static wire::Ipv6Address global(std::uint8_t last) {
        wire::Ipv6Address address{};
        address.bytes[0] = std::byte{0xfd}, address.bytes[15] = std::byte{last};
        return address;
    }
    static wire::Ipv6Address server() { return global(9); }
    static wire::Ipv6Address host() {
        wire::Ipv6Address address{};
        address.bytes[0] = std::byte{0xfe}, address.bytes[1] = std::byte{0x80}, address.bytes[15] = std::byte{7};
        return address;
    }
};

/// The input as options of a message that is right: else hardly any would be read.
std::vector<std::byte> whole_message(fuzz::Input& input, std::size_t size) {
    wire::Dhcp header{.op = static_cast<wire::DhcpOp>(1 + input.byte() % 2), .hops = input.byte()};
    if (input.byte() % 2 == 0) header.relay = wire::ipv4(10, input.byte() % 4, 0, 1);
    std::vector<std::byte> bytes(wire::Dhcp::size);
    header.emit(std::span(bytes).first<wire::Dhcp::size>());
    const auto options = input.take(size);
    bytes.insert(bytes.end(), options.begin(), options.end());
    return bytes;
}

void run(fuzz::Input input) {
    Ipv4World ipv4;
    Ipv6World ipv6;
    while (!input.empty()) {
        const auto kind = input.byte();
        const std::size_t port = kind / 6 % ports;
        const auto side = kind % 2 == 0 ? Side::link : Side::network;
        const auto size = input.word() % 2048u;
        switch (kind / 2 % 3) {
            case 0: ipv4.play(port, side, input.take(size)); break;
            case 1: ipv4.play(port, side, whole_message(input, size)); break;
            default: ipv6.play(port, side, input.take(size)); break;
        }
    }
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
