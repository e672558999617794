// SPDX-License-Identifier: BSD-3-Clause
// Several hosts on one segment that loses, delays and repeats; hosts that restart with another link-layer address, go
// away and come back. However it went: once the segment is quiet, everyone knows everyone who is there, and no one
// else.
#include <map>
#include <optional>
#include <queue>
#include <random>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/resolver.h"

namespace verbline::neighbour {
namespace {

constexpr unsigned hosts = 4;
constexpr wire::Gid address_of(unsigned host) {
    return link::gid_of(wire::ipv4(10, 0, 0, host + 1));
}

struct SimulatedHost {
    LinkAddress link;
    std::optional<Resolver> engine;             ///< none: switched off
    std::map<wire::Gid, LinkAddress> datapath;  ///< neighbours reported to the datapath
    std::set<wire::Gid> waiting;                ///< addresses under resolution
};

struct FlyingPacket {
    Time at;
    unsigned long order;
    std::array<std::byte, max_arp_size> bytes{};
    std::size_t size = 0;
    unsigned from = 0;
    std::optional<LinkAddress> to;
    bool operator<(const FlyingPacket& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
};

struct Segment {
    explicit Segment(unsigned seed) : random(seed), infiniband(seed % 2 == 1) {
        for (unsigned i = 0; i < hosts; ++i) start(i);
    }

    std::mt19937 random;
    bool infiniband;
    std::array<SimulatedHost, hosts> host;
    std::priority_queue<FlyingPacket> flying;
    Time now = 0;
    unsigned trouble = 25;  ///< per cent
    unsigned last_link = 1;
    unsigned long packets = 0;

    bool chance(unsigned percent) { return random() % 100 < percent; }

    LinkAddress fresh_link() {
        const unsigned n = ++last_link;
        if (infiniband)
            return wire::IpoibAddress{.qpn = wire::Qpn{n}, .gid = wire::Gid::of(0xfe8ull << 52, wire::Guid{n})};
        wire::MacAddress mac{{std::byte{2}}};
        mac.bytes[4] = static_cast<std::byte>(n >> 8);
        mac.bytes[5] = static_cast<std::byte>(n);
        return mac;
    }

    void start(unsigned i) {
        stop(i);
        host[i].link = fresh_link();
        host[i].engine.emplace(host[i].link);
        play(i, host[i].engine->set_addresses({{address_of(i), 24}}, now));
        play(i, host[i].engine->announce(now));
    }
    void stop(unsigned i) {
        host[i].engine.reset();
        host[i].datapath.clear();
        host[i].waiting.clear();
    }

    void play(unsigned i, const Actions& actions) {
        auto& [link, engine, datapath, waiting] = host[i];
        for (const auto& action : actions) {
            if (const auto* send = std::get_if<Send>(&action)) {
                transmit(i, *send);
            } else if (const auto* resolved = std::get_if<Resolved>(&action)) {
                EXPECT_TRUE(waiting.contains(resolved->address) || datapath.contains(resolved->address))
                    << "told without asking";
                waiting.erase(resolved->address);
                datapath[resolved->address] = resolved->link;
            } else if (const auto* failed = std::get_if<Failed>(&action)) {
                EXPECT_EQ(waiting.erase(failed->address), 1u);
            } else {
                EXPECT_EQ(datapath.erase(std::get<Removed>(action).address), 1u);
            }
        }
    }

    void transmit(unsigned from, const Send& send) {
        for (unsigned copies = chance(trouble) ? 2 : 1; copies > 0; --copies) {
            FlyingPacket packet{.at = now + 50 * microsecond, .order = ++packets, .from = from, .to = send.to};
            if (chance(trouble)) packet.at += random() % (3 * second);
            packet.size = write_arp(packet.bytes, send.message, send.to);
            flying.push(packet);
        }
    }
    void deliver(const FlyingPacket& packet) {
        for (unsigned i = 0; i < hosts; ++i) {
            if (i == packet.from || !host[i].engine || (packet.to && *packet.to != host[i].link) || chance(trouble))
                continue;
            play(i,
                 host[i].engine->received(read_arp(wire::Bytes(packet.bytes).first(packet.size), host[i].link), now));
        }
    }

    void resolve(unsigned i, unsigned j) {
        if (!host[i].engine || i == j) return;
        if (!host[i].datapath.contains(address_of(j))) host[i].waiting.insert(address_of(j));
        play(i, host[i].engine->resolve(address_of(j), now));
    }

    /// Everything that happens up to `until`, in order of time.
    void advance(Time until) {
        for (;;) {
            Time next = until + 1;
            if (!flying.empty()) next = std::min(next, flying.top().at);
            for (const auto& h : host) {
                if (h.engine) next = std::min(next, h.engine->deadline().value_or(next));
            }
            if (next > until) break;
            now = std::max(now, next);
            while (!flying.empty() && flying.top().at <= now) {
                const auto packet = flying.top();
                flying.pop();
                deliver(packet);
            }
            for (unsigned i = 0; i < hosts; ++i) {
                if (host[i].engine) play(i, host[i].engine->tick(now));
            }
        }
        now = until;
    }

    void step() {
        const unsigned i = random() % hosts, j = random() % hosts;
        advance(now + random() % (2 * second));
        switch (random() % 16) {
            case 0: return start(i);
            case 1: return stop(i);
            case 2:
                if (!host[i].engine) start(i);
                return;
            default: return resolve(i, j);
        }
    }
};

class ResolverSimulation : public testing::TestWithParam<unsigned> {};

TEST_P(ResolverSimulation, EveryoneEndsUpKnowingEveryone) {
    Segment segment(GetParam());
    for (int i = 0; i < 150; ++i) segment.step();

    segment.trouble = 0;
    const auto settle = [&](Time length) { segment.advance(segment.now + length); };
    settle(5 * second);  // the last delayed packets
    for (unsigned i = 0; i < hosts; ++i) {
        for (unsigned j = 0; j < hosts; ++j) segment.resolve(i, j);
    }
    settle(40 * second);  // longer than a wrong answer is believed

    for (unsigned i = 0; i < hosts; ++i) {
        if (!segment.host[i].engine) continue;
        EXPECT_TRUE(segment.host[i].waiting.empty()) << "every question has an answer";
        for (unsigned j = 0; j < hosts; ++j) {
            if (i == j) continue;
            const auto known = segment.host[i].datapath.find(address_of(j));
            ASSERT_EQ(known != segment.host[i].datapath.end(), segment.host[j].engine.has_value());
            if (!segment.host[j].engine) continue;
            EXPECT_EQ(known->second, segment.host[j].link) << "what " << i << " knows of " << j;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ResolverSimulation, testing::Range(0u, 2000u));

}  // namespace
}  // namespace verbline::neighbour
