// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packets, questions and lapses of time through address resolution. The datapath is only told what it asked for,
/// the table stays within its bounds, and every ARP sent is one that can be read back.

#include <set>
#include <variant>

#include "control/host/arp.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using host::Arp;
using host::ArpMessage;
using host::HardwareAddress;
using wire::Ipv4Address;

constexpr std::size_t table_size = 8;

/// What the datapath knows from what it was told.
struct Datapath {
    HardwareAddress own;
    std::set<Ipv4Address> waiting, known;

    void play(const Arp::Actions& actions) {
        for (const auto& action : actions) std::visit([this](const auto& a) { hear(a); }, action);
    }
    void hear(const Arp::SendArp& send) const {
        std::array<std::byte, ArpMessage::max_size> bytes{};
        const auto size = send.message.emit(bytes);
        expect(ArpMessage::parse(wire::Bytes(bytes).first(size), own) == send.message);
        expect(send.message.sender_link == own);
        expect(!send.to || (host::is_neighbour_address(*send.to) && *send.to != own));
    }
    void hear(const Arp::Resolved& resolved) {
        expect(waiting.erase(resolved.ip) + known.count(resolved.ip) == 1);
        expect(host::is_neighbour_address(resolved.link) && resolved.link.index() == own.index());
        known.insert(resolved.ip);
    }
    void hear(const Arp::Failed& failed) { expect(waiting.erase(failed.ip) == 1); }
    void hear(const Arp::Removed& removed) { expect(known.erase(removed.ip) == 1); }
};

/// Few addresses, so that the same ones meet again.
Ipv4Address address(std::uint8_t n) {
    return wire::ipv4(10, 0, n / 16, n % 16);
}

HardwareAddress own_address(bool infiniband) {
    if (infiniband) return wire::IpoibAddress{.qpn = wire::Qpn{5}, .gid = {{std::byte{0xfe}}}};
    return wire::MacAddress{{std::byte{2}}};
}

/// An ARP packet as a neighbour sends it; else hardly any input would be one.
void hear(Arp& arp, Datapath& datapath, fuzz::Input& input, Time now) {
    ArpMessage message{.operation = wire::ArpOperation{input.byte()},
                       .sender_link = datapath.own,
                       .sender = address(input.byte()),
                       .target_link = datapath.own,
                       .target = address(input.byte())};
    if (auto* mac = std::get_if<wire::MacAddress>(&message.sender_link)) {
        mac->bytes[5] = std::byte{input.byte()};
    } else {
        std::get<wire::IpoibAddress>(message.sender_link).qpn = wire::Qpn{input.byte()};
    }
    std::array<std::byte, ArpMessage::max_size> bytes{};
    const auto size = message.emit(bytes);
    datapath.play(arp.received(wire::Bytes(bytes).first(size), now));
}

void run(fuzz::Input input) {
    Datapath datapath{.own = own_address(input.byte() % 2 == 1)};
    Arp arp(datapath.own, {},
            {.neighbours = table_size, .answers_per_second = 10, .broadcasts_per_second = 10, .burst = 5});
    Time now = 0;
    while (!input.empty()) {
        switch (input.byte() % 8) {
            case 0: datapath.play(arp.set_addresses({{address(input.byte()), 24}, {address(input.byte()), 28}})); break;
            case 1: datapath.play(arp.received(input.take(input.byte()), now)); break;
            case 2: datapath.play(arp.announce(now)); break;
            case 3: datapath.play(arp.clear()); break;
            case 4: now += input.word() * millisecond; break;
            case 5: hear(arp, datapath, input, now); break;
            default: {
                const auto ip = address(input.byte());
                if (!datapath.known.contains(ip)) datapath.waiting.insert(ip);
                datapath.play(arp.resolve(ip, now));
            }
        }
        datapath.play(arp.tick(now));
        expect(!arp.deadline() || *arp.deadline() > now);
        expect(arp.neighbours(now).size() <= table_size);
    }
    datapath.play(arp.clear());
    expect(datapath.waiting.empty() && datapath.known.empty());
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
