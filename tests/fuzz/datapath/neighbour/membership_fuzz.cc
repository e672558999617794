// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any IGMP and MLD packets, and times, through the codec and the router's engine: what is read is bounded by what was
/// there, queries of ours can be read back, and groups join and leave in turn and stay within the table.

#include <algorithm>
#include <set>
#include <variant>
#include <vector>

#include "control/multicast/listeners.h"
#include "datapath/link/ip_gid.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

constexpr std::size_t table_size = 8;
const auto own = link::gid_of(wire::ipv4(10, 0, 0, 5));
const auto own6 = wire::Gid::of(0xfe80'0000'0000'0000, wire::Guid{5});

struct Groups {
    std::set<wire::Gid> in;

    void play(const multicast::ListenerActions& actions) {
        for (const auto& action : actions) {
            if (const auto* joined = std::get_if<multicast::Joined>(&action)) expect(in.insert(joined->group).second);
            if (const auto* left = std::get_if<multicast::Left>(&action)) expect(in.erase(left->group) == 1);
            if (const auto* query = std::get_if<multicast::SendQuery>(&action)) {
                const auto read = neighbour::read_membership(neighbour::query_packet(query->query).bytes);
                expect(read && std::get<neighbour::MembershipQuery>(*read).group == query->query.group);
            }
        }
    }
};

/// The input as a message, in a packet that is right: else hardly any would be read.
std::vector<std::byte> packet_of(wire::Bytes message, bool ipv4) {
    std::vector<std::byte> bytes(message.begin(), message.end());
    bytes.resize(std::max<std::size_t>(bytes.size(), 4));
    wire::store16(bytes, 2, 0);
    const auto from6 = link::ipv6_of(wire::Gid::of(0xfe80'0000'0000'0000, wire::Guid{3}));
    return ipv4 ? neighbour::igmp_packet(bytes, neighbour::all_igmp_routers, wire::ipv4(10, 0, 0, 3)).bytes
                : neighbour::mld_packet(bytes, neighbour::all_mld_routers, from6).bytes;
}

void run(fuzz::Input input) {
    const bool ipv4 = input.byte() % 2 == 0;
    multicast::ListenersCounters counters;
    multicast::Listeners listeners({.most_groups = table_size}, counters);
    Groups groups;
    Time now = second;
    groups.play(listeners.set_address(ipv4 ? own : own6, now));
    const auto receive = [&](wire::Bytes packet) {
        const auto message = neighbour::read_membership(packet);
        if (!message) return;
        if (const auto* report = std::get_if<neighbour::MembershipReport>(&*message)) {
            expect(report->records.size() <= packet.size() / 8);
        }
        groups.play(std::visit([&](const auto& m) { return listeners.received(m, now); }, *message));
    };
    while (!input.empty()) {
        switch (input.byte() % 4) {
            case 0: receive(input.take(input.byte())); break;
            case 1: now += input.word() * millisecond; break;
            default: receive(packet_of(input.take(input.byte()), ipv4)); break;
        }
        groups.play(listeners.tick(now));
        expect(!listeners.deadline() || *listeners.deadline() > now);
        expect(listeners.size() == groups.in.size() && listeners.size() <= table_size);
    }
    groups.play(listeners.clear());
    expect(groups.in.empty());
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
