// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packets, requests and times through the neighbour engine, by ND on IPoIB. The table stays within its bounds,
/// each address that is resolved is reported or fails, and every packet sent can be read back and is true of us.

#include <array>
#include <set>
#include <variant>
#include <vector>

#include "datapath/neighbour/discovery.h"
#include "datapath/neighbour/resolver.h"
#include "datapath/neighbour/router_discovery.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using neighbour::Kind;
using neighbour::Resolver;
using wire::Gid;
using wire::IpoibAddress;

constexpr std::size_t table_size = 8;
constexpr IpoibAddress us{.qpn = wire::Qpn{0x40}, .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{1})};

/// Few addresses, so that the same ones meet again.
Gid address(std::uint8_t n) {
    return Gid::of(0xfd00'0000'0000'0000, wire::Guid{n % 16u});
}

/// The addresses under resolution, of which neither result nor failure was reported yet.
struct Caller {
    std::set<Gid> waiting;

    void play(const neighbour::Actions& actions) {
        for (const auto& action : actions) std::visit([this](const auto& a) { hear(a); }, action);
    }
    void hear(const neighbour::Send& send) const {
        std::vector<std::byte> packet(neighbour::max_discovery_size);
        packet.resize(write_discovery(packet, send.message, send.to.has_value()));
        const auto read = neighbour::read_discovery<IpoibAddress>(packet);
        const bool probe = read.message.solicits && !read.message.source;
        expect(read.kind == Kind::resolution && (probe || read.message.at == neighbour::LinkAddress(us)));
        expect(!send.to || (neighbour::is_host(*send.to) && *send.to != neighbour::LinkAddress(us)));
    }
    void hear(const neighbour::Resolved& resolved) { waiting.erase(resolved.address); }
    void hear(const neighbour::Failed& failed) { expect(waiting.erase(failed.address) == 1); }
    void hear(const neighbour::Removed& removed) const { expect(!waiting.contains(removed.address)); }
    void hear(const neighbour::Conflict& conflict) const { expect(neighbour::is_host(conflict.address)); }
    void hear(const neighbour::Yielded& yielded) const { expect(neighbour::is_host(yielded.address)); }
};

/// A packet as a neighbour sends it, perhaps with a byte changed; else hardly any input would be one.
std::vector<std::byte> neighbours_packet(fuzz::Input& input) {
    const IpoibAddress link{.qpn = wire::Qpn{0x40u + input.byte() % 4},
                            .gid = Gid::of(wire::default_subnet_prefix, wire::Guid{1u + input.byte() % 4})};
    const auto flags = input.byte();
    const auto subject = address(input.byte());
    const auto source = (flags & 1) != 0 ? Gid{} : address(input.byte());
    const bool solicits = (flags & 2) != 0;
    const neighbour::Message message{.solicits = solicits,
                                     .source = source == Gid{} ? std::nullopt : std::optional(source),
                                     .at = link,
                                     .subject = subject,
                                     .solicited = (flags & 8) != 0,
                                     .overrides = (flags & 16) != 0};
    std::vector<std::byte> bytes(neighbour::max_discovery_size);
    bytes.resize(write_discovery(bytes, message, (flags & 4) == 0));
    if (const auto at = input.byte(); at < bytes.size()) bytes[at] = std::byte{input.byte()};
    return bytes;
}

void run(fuzz::Input input) {
    Caller caller;
    const bool router = input.byte() % 2 == 1;  // which waits for its probes
    Resolver engine(us, {.use = neighbour::Use::on_demand,
                         .detect_duplicates = router ? neighbour::Detect::ipv6 : neighbour::Detect::none,
                         .use_tentative = !router,
                         .capacity = table_size});
    caller.play(engine.set_addresses({{address(1), 64}}, 0));
    Time now = 0;
    const auto receive = [&](wire::Bytes packet) {
        (void)neighbour::read_solicitation<IpoibAddress>(packet);
        const auto read = neighbour::read_discovery<IpoibAddress>(packet);
        if (read.kind != Kind::other) caller.play(engine.received(read, now));
    };
    while (!input.empty()) {
        switch (input.byte() % 8) {
            case 0:
                caller.play(engine.set_addresses({{address(input.byte()), 64}, {address(input.byte()), 128}}, now));
                break;
            case 1: receive(input.take(input.byte())); break;
            case 2: now += input.word() * millisecond; break;
            case 3: {
                const auto wanted = address(input.byte());
                caller.waiting.insert(wanted);
                caller.play(engine.resolve(wanted, now));
                break;
            }
            case 4: caller.play(engine.announce(now)); break;
            default: receive(neighbours_packet(input)); break;
        }
        caller.play(engine.tick(now));
        expect(!engine.deadline() || *engine.deadline() > now);
        expect(engine.size() <= table_size);
    }
    caller.play(engine.clear());
    expect(caller.waiting.empty());
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::run(verbline::fuzz::Input(std::as_bytes(std::span(data, size))));
    return 0;
}
