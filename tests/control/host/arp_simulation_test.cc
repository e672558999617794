// SPDX-License-Identifier: BSD-3-Clause
// Several hosts on one segment that loses, delays and repeats; hosts that restart with another link-layer address, go
// away and come back. However it went: once the segment is quiet, everyone knows everyone who is there, and no one
// else.
#include <map>
#include <optional>
#include <queue>
#include <random>

#include <gtest/gtest.h>

#include "control/host/arp.h"

namespace verbline::host {
namespace {

constexpr unsigned hosts = 4;
constexpr wire::Ipv4Address address_of(unsigned host) {
    return wire::ipv4(10, 0, 0, host + 1);
}

struct Host {
    HardwareAddress link;
    std::optional<Arp> arp;                                 ///< none: switched off
    std::map<wire::Ipv4Address, HardwareAddress> datapath;  ///< what the datapath has been told
    std::set<wire::Ipv4Address> waiting;                    ///< what it has asked for and not heard of
};

struct Packet {
    Time at;
    unsigned long order;
    std::array<std::byte, ArpMessage::max_size> bytes{};
    std::size_t size = 0;
    unsigned from = 0;
    std::optional<HardwareAddress> to;
    bool operator<(const Packet& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
};

struct Segment {
    explicit Segment(unsigned seed) : random(seed), infiniband(seed % 2 == 1) {
        for (unsigned i = 0; i < hosts; ++i) start(i);
    }

    std::mt19937 random;
    bool infiniband;
    std::array<Host, hosts> host;
    std::priority_queue<Packet> flying;
    Time now = 0;
    unsigned trouble = 25;  ///< per cent
    unsigned last_link = 1;
    unsigned long packets = 0;

    bool chance(unsigned percent) { return random() % 100 < percent; }

    HardwareAddress fresh_link() {
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
        host[i].arp.emplace(host[i].link);
        play(i, host[i].arp->set_addresses({{address_of(i), 24}}));
        play(i, host[i].arp->announce(now));
    }
    void stop(unsigned i) {
        host[i].arp.reset();
        host[i].datapath.clear();
        host[i].waiting.clear();
    }

    void play(unsigned i, const Arp::Actions& actions) {
        auto& [link, arp, datapath, waiting] = host[i];
        for (const auto& action : actions) {
            if (const auto* send = std::get_if<Arp::SendArp>(&action)) {
                transmit(i, *send);
            } else if (const auto* resolved = std::get_if<Arp::Resolved>(&action)) {
                EXPECT_TRUE(waiting.contains(resolved->ip) || datapath.contains(resolved->ip)) << "told without asking";
                waiting.erase(resolved->ip);
                datapath[resolved->ip] = resolved->link;
            } else if (const auto* failed = std::get_if<Arp::Failed>(&action)) {
                EXPECT_EQ(waiting.erase(failed->ip), 1u);
            } else {
                EXPECT_EQ(datapath.erase(std::get<Arp::Removed>(action).ip), 1u);
            }
        }
    }

    void transmit(unsigned from, const Arp::SendArp& send) {
        for (unsigned copies = chance(trouble) ? 2 : 1; copies > 0; --copies) {
            Packet packet{.at = now + 50 * microsecond, .order = ++packets, .from = from, .to = send.to};
            if (chance(trouble)) packet.at += random() % (3 * second);
            packet.size = send.message.emit(packet.bytes);
            flying.push(packet);
        }
    }
    void deliver(const Packet& packet) {
        for (unsigned i = 0; i < hosts; ++i) {
            if (i == packet.from || !host[i].arp || (packet.to && *packet.to != host[i].link) || chance(trouble))
                continue;
            play(i, host[i].arp->received(wire::Bytes(packet.bytes).first(packet.size), now));
        }
    }

    void resolve(unsigned i, unsigned j) {
        if (!host[i].arp || i == j) return;
        if (!host[i].datapath.contains(address_of(j))) host[i].waiting.insert(address_of(j));
        play(i, host[i].arp->resolve(address_of(j), now));
    }

    /// Everything that happens up to `until`, in order of time.
    void advance(Time until) {
        for (;;) {
            Time next = until + 1;
            if (!flying.empty()) next = std::min(next, flying.top().at);
            for (const auto& h : host) {
                if (h.arp) next = std::min(next, h.arp->deadline().value_or(next));
            }
            if (next > until) break;
            now = std::max(now, next);
            while (!flying.empty() && flying.top().at <= now) {
                const auto packet = flying.top();
                flying.pop();
                deliver(packet);
            }
            for (unsigned i = 0; i < hosts; ++i) {
                if (host[i].arp) play(i, host[i].arp->tick(now));
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
                if (!host[i].arp) start(i);
                return;
            default: return resolve(i, j);
        }
    }
};

class ArpSimulation : public testing::TestWithParam<unsigned> {};

TEST_P(ArpSimulation, EveryoneEndsUpKnowingEveryone) {
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
        if (!segment.host[i].arp) continue;
        EXPECT_TRUE(segment.host[i].waiting.empty()) << "every question has an answer";
        for (unsigned j = 0; j < hosts; ++j) {
            if (i == j) continue;
            const auto known = segment.host[i].datapath.find(address_of(j));
            ASSERT_EQ(known != segment.host[i].datapath.end(), segment.host[j].arp.has_value());
            if (!segment.host[j].arp) continue;
            EXPECT_EQ(known->second, segment.host[j].link) << "what " << i << " knows of " << j;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ArpSimulation, testing::Range(0u, 2000u));

}  // namespace
}  // namespace verbline::host
