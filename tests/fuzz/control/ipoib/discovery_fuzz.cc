// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packets, questions and lapses of time through neighbour discovery on IPoIB. The table stays within its bounds,
/// who is asked for is told of or fails, and every packet sent is one that can be read back and says the truth about
/// us.

#include <array>
#include <set>
#include <variant>
#include <vector>

#include "control/ipoib/discovery.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using ipoib::IpoibDiscovery;
using neighbour::FrameKind;
using wire::Gid;
using wire::IpoibAddress;

constexpr std::size_t table_size = 8;
constexpr IpoibAddress us{.qpn = wire::Qpn{0x40}, .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{1})};

/// Few addresses, so that the same ones meet again.
Gid address(std::uint8_t n) {
    return Gid::of(0xfd00'0000'0000'0000, wire::Guid{n % 16u});
}

void check(const IpoibDiscovery::Actions& actions) {
    for (const auto& action : actions) {
        const auto* send = std::get_if<IpoibDiscovery::Send>(&action);
        if (send == nullptr) continue;
        const auto [kind, message] = neighbour::read_discovery<IpoibAddress>(send->packet);
        expect(kind == FrameKind::resolution && message.at == us);
        const auto* to = std::get_if<IpoibAddress>(&send->to);
        expect(to == nullptr || (neighbour::is_host(*to) && *to != us));
    }
}

/// A packet as a neighbour sends it, perhaps with a byte changed; else hardly any input would be one.
std::vector<std::byte> neighbours_packet(fuzz::Input& input) {
    const IpoibAddress link{.qpn = wire::Qpn{0x40u + input.byte() % 4},
                            .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{1u + input.byte() % 4})};
    const auto flags = input.byte();
    const auto subject = address(input.byte());
    const auto source = (flags & 1) != 0 ? Gid{} : address(input.byte());
    const bool asks = (flags & 2) != 0;
    std::array<std::byte, neighbour::discovery_size<IpoibAddress>> bytes{};
    const auto size = neighbour::write_discovery<IpoibAddress>(
        bytes, link, source, (flags & 4) != 0 ? neighbour::solicited_node(subject) : address(1),
        {.type = asks ? wire::icmpv6_type::neighbour_solicitation : wire::icmpv6_type::neighbour_advertisement,
         .solicited = (flags & 8) != 0,
         .override_cached = (flags & 16) != 0,
         .target = {subject.bytes}});
    if (const auto at = input.byte(); at < size) bytes[at] = std::byte{input.byte()};
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

void run(fuzz::Input input) {
    IpoibDiscovery discovery(us, {}, table_size);
    discovery.set_addresses({{address(1), 64}});
    Time now = 0;
    while (!input.empty()) {
        switch (input.byte() % 8) {
            case 0: discovery.set_addresses({{address(input.byte()), 64}, {address(input.byte()), 128}}); break;
            case 1: check(discovery.received(input.take(input.byte()), now)); break;
            case 2: now += input.word() * millisecond; break;
            case 3: check(discovery.resolve(address(input.byte()), now)); break;
            case 4: discovery.announce(now); break;
            default: check(discovery.received(neighbours_packet(input), now)); break;
        }
        check(discovery.tick(now));
        expect(!discovery.deadline() || *discovery.deadline() > now);
        expect(discovery.size() <= table_size);
    }
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
