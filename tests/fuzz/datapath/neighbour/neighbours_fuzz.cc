// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any frames, requests and times through neighbour resolution. The table stays within its bounds, every frame sent can
/// be read back and is true of us, and a ping's answer is no longer than the ping.

#include <vector>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/echo.h"
#include "datapath/neighbour/neighbours.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using neighbour::Frame;
using neighbour::Kind;
using neighbour::Neighbours;

constexpr std::size_t table_size = 8;
constexpr wire::MacAddress us{{std::byte{2}}};

wire::MacAddress mac(std::uint8_t n) {
    auto result = us;
    result.bytes[5] = std::byte{n};
    return result;
}

/// Few addresses of both families, so that the same ones meet again.
wire::Gid address(std::uint8_t n) {
    if (n % 2 == 0) return link::gid_of(wire::ipv4(10, 0, n / 64, n % 64));
    return wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{n / 8u});
}

void check(const Neighbours& neighbours, const Frame& frame) {
    const auto [kind, family, message] = neighbour::read_frame(frame.view());
    const neighbour::LinkAddress own(us);
    expect(kind == Kind::resolution && message.frame_source == own && (!message.at || *message.at == own));
    expect(!message.source || neighbours.owns(*message.source));
}

/// A frame as a neighbour sends it, perhaps with a byte changed; else hardly any input would be one.
Frame neighbours_frame(fuzz::Input& input) {
    const auto who = mac(input.byte());
    const auto a = address(input.byte()), b = address(input.byte());
    neighbour::Message message;
    std::optional<wire::MacAddress> to;
    switch (input.byte() % 4) {
        case 0: message = neighbour::request(who, a, b); break;
        case 1: message = neighbour::request(who, std::nullopt, b); break;
        case 2: message = neighbour::reply(who, a, b), to = us; break;
        default: message = neighbour::announcement(who, a); break;
    }
    auto frame = neighbour::write_frame(message, to);
    if (const auto at = input.byte(); at < frame.size) frame.bytes[at] = std::byte{input.byte()};
    return frame;
}

void hear(Neighbours& neighbours, wire::Bytes frame, Time now) {
    const auto outcome = neighbours.received(frame, now);
    expect(outcome.taken || !outcome.reply);
    if (outcome.reply) check(neighbours, *outcome.reply);
    if (neighbour::echo_target(frame, us)) {
        std::vector<std::byte> reply(frame.begin(), frame.end());
        neighbour::make_echo_reply(reply, us);
        expect(!neighbour::echo_target(reply, us));
    }
}

void run(fuzz::Input input) {
    Neighbours neighbours(us, table_size);
    Time now = 0;
    while (!input.empty()) {
        switch (input.byte() % 8) {
            case 0:
                neighbours.set_addresses({{address(input.byte()), input.byte()}, {address(input.byte()), 24}}, now);
                break;
            case 1: hear(neighbours, input.take(input.byte()), now); break;
            case 2: now += input.word() * millisecond; break;
            case 3:
                if (const auto frame = neighbours.solicit(address(input.byte()), now)) check(neighbours, *frame);
                break;
            case 4: neighbours.lookup(address(input.byte()), now); break;
            default: hear(neighbours, neighbours_frame(input).view(), now); break;
        }
        for (const auto& frame : neighbours.tick(now).frames) check(neighbours, frame);
        expect(!neighbours.deadline() || *neighbours.deadline() > now);
        expect(neighbours.size() <= table_size);
    }
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
