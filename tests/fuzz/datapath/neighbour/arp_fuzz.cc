// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packets, requests and times through the neighbour engine, by ARP. Only addresses that the datapath has resolved
/// are reported to it, the table stays within its bounds, and every ARP sent is one that can be read back.

#include <set>
#include <variant>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/resolver.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using neighbour::LinkAddress;
using neighbour::Resolver;
using wire::Gid;

constexpr std::size_t table_size = 8;

/// What the datapath knows from what it was told.
struct Datapath {
    LinkAddress own;
    std::set<Gid> waiting, known;

    void play(const neighbour::Actions& actions) {
        for (const auto& action : actions) std::visit([this](const auto& a) { hear(a); }, action);
    }
    void hear(const neighbour::Send& send) const {
        std::array<std::byte, neighbour::max_arp_size> bytes{};
        const auto size = write_arp(bytes, send.message, send.to);
        expect(neighbour::read_arp(wire::Bytes(bytes).first(size), own).message == send.message);
        expect(send.message.at == own);
        expect(!send.to || (neighbour::is_host(*send.to) && *send.to != own));
    }
    void hear(const neighbour::Resolved& resolved) {
        expect(waiting.erase(resolved.address) + known.count(resolved.address) == 1);
        expect(neighbour::is_host(resolved.link) && resolved.link.index() == own.index());
        known.insert(resolved.address);
    }
    void hear(const neighbour::Conflict& conflict) const { expect(neighbour::is_host(conflict.address)); }
    void hear(const neighbour::Yielded& yielded) const { expect(neighbour::is_host(yielded.address)); }
    void hear(const neighbour::Failed& failed) { expect(waiting.erase(failed.address) == 1); }
    void hear(const neighbour::Removed& removed) { expect(known.erase(removed.address) == 1); }
};

/// Few addresses, so that the same ones meet again.
Gid address(std::uint8_t n) {
    return link::gid_of(wire::ipv4(10, 0, n / 16, n % 16));
}

LinkAddress own_address(bool infiniband) {
    if (infiniband) return wire::IpoibAddress{.qpn = wire::Qpn{5}, .gid = {{std::byte{0xfe}}}};
    return wire::MacAddress{{std::byte{2}}};
}

/// An ARP packet as a neighbour sends it; else hardly any input would be one.
template <class Address>
void hear(Resolver& engine, Datapath& datapath, const Address& link, fuzz::Input& input, Time now) {
    using Arp = wire::Arp<Address>;
    const auto ipv4 = [&] { return *link::ipv4_of(address(input.byte())); };
    Arp arp{.operation = wire::ArpOperation{input.byte()}};
    arp.sender = ipv4();
    arp.target = ipv4();
    arp.sender_link = arp.target_link = link;
    if constexpr (std::is_same_v<Address, wire::MacAddress>) {
        arp.sender_link.bytes[5] = std::byte{input.byte()};
    } else {
        arp.sender_link.qpn = wire::Qpn{input.byte()};
    }
    std::array<std::byte, Arp::size> bytes{};
    arp.emit(bytes);
    datapath.play(engine.received(neighbour::read_arp(bytes, datapath.own), now));
}

void run(fuzz::Input input) {
    Datapath datapath{.own = own_address(input.byte() % 2 == 1)};
    Resolver engine(datapath.own,
                    {.capacity = table_size, .answers_per_second = 10, .multicasts_per_second = 10, .burst = 5});
    Time now = 0;
    while (!input.empty()) {
        switch (input.byte() % 8) {
            case 0:
                datapath.play(engine.set_addresses({{address(input.byte()), 24}, {address(input.byte()), 28}}, now));
                break;
            case 1:
                datapath.play(engine.received(neighbour::read_arp(input.take(input.byte()), datapath.own), now));
                break;
            case 2: datapath.play(engine.announce(now)); break;
            case 3: datapath.play(engine.clear()); break;
            case 4: now += input.word() * millisecond; break;
            case 5:
                std::visit([&](const auto& link) { hear(engine, datapath, link, input, now); }, datapath.own);
                break;
            default: {
                const auto ip = address(input.byte());
                if (!datapath.known.contains(ip)) datapath.waiting.insert(ip);
                datapath.play(engine.resolve(ip, now));
            }
        }
        datapath.play(engine.tick(now));
        expect(!engine.deadline() || *engine.deadline() > now);
        expect(engine.neighbours(now).size() <= table_size);
    }
    datapath.play(engine.clear());
    expect(datapath.waiting.empty() && datapath.known.empty());
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
