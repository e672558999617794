// SPDX-License-Identifier: BSD-3-Clause
// What Linux's soft-RoCE was asked in captures of real traffic, asked of our responder: it must give the same answers.
// The transport packets are as captured but for what names the responder (address, QPN, key): all PSNs, opcodes,
// lengths and flags are the kernel requester's.
#include <algorithm>
#include <array>
#include <compare>
#include <cstring>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "datapath/wire/bth.h"
#include "tests/sim/world.h"
#include "tests/support/eal.h"
#include "tests/support/link_frame.h"
#include "tests/support/packet.h"
#include "tests/support/pcap.h"
#include "tests/support/rdma_end.h"

namespace verbline::rdma {
namespace {

using transport::Operation;

/// A transport packet, BTH through padding; of a frame that the capture cut short, zeros where bytes are missing.
struct Captured {
    wire::Gid from;
    wire::Qpn to{};
    std::uint8_t opcode = 0;
    wire::Psn psn;
    test::ByteVector bytes;

    const transport::OpcodeTraits& traits() const { return transport::opcode_table[opcode]; }
};

/// What the standard fixes of an answer.
struct Answer {
    std::uint8_t opcode = 0;
    std::uint32_t psn = 0;
    std::uint32_t aeth = 0;      ///< syndrome and MSN; of an ACK the syndrome's kind alone, for credits are free
    std::uint64_t original = 0;  ///< atomics
    std::size_t payload = 0;

    auto operator<=>(const Answer&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Answer& a) {
        return out << std::hex << "opcode " << +a.opcode << " psn " << a.psn << " aeth " << a.aeth << " original "
                   << a.original << std::dec << " payload " << a.payload;
    }
};

/// Answers of one requester's packets, and those packets.
struct Conversation {
    std::string file;
    wire::Gid requester;
    wire::Qpn qpn{};  ///< the same at both ends in these captures

    friend std::ostream& operator<<(std::ostream& out, const Conversation& c) { return out << c.file; }
};

/// Where transport packets are in frames of RoCE v2 without VLAN tag; 0: it is none.
std::size_t bth_of(wire::Bytes frame) {
    constexpr std::size_t ipv4 = 42, ipv6 = 62;
    const auto roce = [&](std::size_t bth, std::uint16_t type, std::size_t protocol) {
        return frame.size() >= bth + wire::Bth::size && wire::load16(frame, 12) == type &&
               wire::load8(frame, protocol) == 17 && wire::load16(frame, bth - 6) == 4791;
    };
    return roce(ipv4, 0x0800, 23) ? ipv4 : roce(ipv6, 0x86dd, 20) ? ipv6 : 0;
}

std::vector<Captured> load(const std::string& file) {
    std::vector<Captured> packets;
    for (const auto& frame : test::read_pcap(std::string(CAPTURES) + "/" + file)) {
        const auto at = bth_of(frame.bytes);
        if (at == 0) continue;
        Captured packet;
        if (at == 42) {
            packet.from = link::gid_of(wire::Ipv4Address{wire::load32(frame.bytes, 26)});
        } else {
            std::ranges::copy(wire::Bytes(frame.bytes).subspan(22, 16), packet.from.bytes.begin());
        }
        packet.bytes = frame.bytes;
        packet.bytes.resize(frame.wire_length);
        packet.bytes.resize(packet.bytes.size() - wire::icrc_size);
        packet.bytes.erase(packet.bytes.begin(), packet.bytes.begin() + static_cast<std::ptrdiff_t>(at));
        const auto bth = wire::Bth::parse(packet.bytes);
        if (!bth) continue;
        packet.to = bth->dest, packet.opcode = bth->opcode, packet.psn = bth->psn;
        packets.push_back(std::move(packet));
    }
    return packets;
}

Answer answer_of(const Captured& packet) {
    const auto bth = *wire::Bth::parse(packet.bytes);
    Answer answer{.opcode = packet.opcode, .psn = packet.psn.value()};
    const auto headers = packet.traits().headers;
    if (headers != 0) answer.aeth = wire::load32(packet.bytes, wire::Bth::size);
    if ((answer.aeth >> 29) == 0) answer.aeth &= 0xff'ffff;
    if (packet.traits().operation == Operation::atomic_acknowledge) {
        answer.original = wire::load64(packet.bytes, wire::Bth::size + 4);
    }
    answer.payload = packet.bytes.size() - wire::Bth::size - headers - bth.pad;
    return answer;
}

class Replay : public testing::TestWithParam<Conversation> {
protected:
    static constexpr wire::MacAddress their_mac{
        {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xee}}};

    /// Our responder, connected to the captured requester, expecting its first request.
    void connect(wire::Psn first) {
        gid_index = link::ipv4_of(GetParam().requester) ? host.gid_v2_ipv4() : host.gid_v2_ipv6();
        end.make(transport::QueuePairType::rc);
        ASSERT_TRUE(end.pair->init({.access = test::every_access}));
        ASSERT_TRUE(end.pair->ready_to_receive(
            {.remote = GetParam().qpn,
             .path = {.gid_index = gid_index,
                      .address = {.global = true, .dgid = GetParam().requester, .hop_limit = 64},
                      .mac = their_mac},
             .mtu = 1024,
             .first = first,
             .max_reads = 16}));
        for (int i = 0; i < 32; ++i) end.receive(0, 0, 1 << 16);
    }

    void ask(Captured packet) {
        const auto bytes = std::span(packet.bytes);
        wire::store32(bytes, 4, static_cast<std::uint32_t>(end.pair->qpn()));
        const auto operation = packet.traits().operation;
        const bool remote = packet.traits().first && operation != Operation::send;
        if (remote) {
            wire::store64(bytes, wire::Bth::size, end.address(0));
            wire::store32(bytes, wire::Bth::size + 8, static_cast<std::uint32_t>(end.region->rkey()));
        }
        const auto to = *host.device().gids().at(gid_index);
        const auto envelope =
            link::make_envelope({.carrier = link::carrier_of(to), .mac = their_mac, .gid = GetParam().requester},
                                {.global = true, .dgid = to.gid}, host.mac(), 0xc000);
        test::ByteVector frame(envelope.size);
        frame.insert(frame.end(), packet.bytes.begin(), packet.bytes.end());
        frame.resize(frame.size() + wire::icrc_size);
        test::seal_frame(frame, envelope, 1);
        std::array<rte_mbuf*, 1> burst{test::make_packet(frame).release()};
        ASSERT_EQ(peer.tx_burst(0, burst), 1);
        world.run_for(microsecond);
        for ([[maybe_unused]] const auto& done : end.poll()) end.receive(0, 0, 1 << 16);
    }

    std::vector<Answer> answers() {
        std::vector<Answer> all;
        std::array<rte_mbuf*, 32> burst;
        while (const auto n = peer.rx_burst(0, burst)) {
            for (auto* const frame : std::span(burst).first(n)) {
                Captured packet{.bytes = test::bytes_of(frame)};
                rte_pktmbuf_free(frame);
                packet.bytes.erase(packet.bytes.begin(),
                                   packet.bytes.begin() + static_cast<std::ptrdiff_t>(bth_of(packet.bytes)));
                packet.bytes.resize(packet.bytes.size() - wire::icrc_size);
                packet.opcode = wire::load8(packet.bytes, 0);
                packet.psn = wire::Bth::parse(packet.bytes)->psn;
                all.push_back(answer_of(packet));
            }
        }
        return all;
    }

    void TearDown() override { static_cast<void>(answers()); }

    /// Asks everything; fills in what the kernel answered and what we did.
    void run() {
        const auto packets = load(GetParam().file);
        ASSERT_FALSE(packets.empty());
        bool connected = false;
        for (const auto& packet : packets) {
            if (packet.to != GetParam().qpn) continue;
            const bool theirs = packet.from == GetParam().requester, request = packet.traits().is_request();
            if (!theirs && !request) kernel.push_back(answer_of(packet));
            if (!theirs || !request) continue;
            if (!connected) connect(packet.psn), connected = true;
            prepare(packet, packets);
            ask(packet);
            std::ranges::copy(answers(), std::back_inserter(ours));
        }
        ASSERT_TRUE(connected);
        ASSERT_FALSE(kernel.empty());
    }

    /// Our memory holds what the kernel's held before an atomic: that is in its answer.
    void prepare(const Captured& request, const std::vector<Captured>& packets) {
        for (const auto& packet : packets) {
            const bool atomic = packet.traits().operation == Operation::atomic_acknowledge;
            if (!atomic || packet.to != GetParam().qpn || packet.psn != request.psn) continue;
            const auto value = answer_of(packet).original;
            std::memcpy(end.data.data(), &value, sizeof(value));
        }
    }

    sim::World world{sim::Seed{1}, *test::packet_pool()};
    sim::Host& host = world.add_host();
    sim::SimulatedPort& peer = world.network().add_port({.name = "kernel", .mac = their_mac});
    test::End end{host};
    unsigned gid_index = 0;
    std::vector<Answer> kernel, ours;
};

TEST_P(Replay, GetsTheAnswersOfTheKernel) {
    run();
    EXPECT_EQ(ours, kernel);
}

constexpr auto v4 = [](unsigned n) { return link::gid_of(wire::ipv4(10, 77, 0, n)); };
const auto link_local = [](unsigned n) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{std::uint64_t{0x505400fffe0e0000} + n});
};
const auto v6 = [](unsigned n) { return wire::Gid::of(0xfd77'0000'0000'0000, wire::Guid{n}); };

std::vector<Conversation> conversations() {
    const std::string operations = "rxe-cm-send-write-read-atomic.pcap", rping = "rxe-rping-2iter.pcap",
                      ipv6 = "rxe-v6.pcap";
    std::vector<Conversation> all;
    for (unsigned qpn = 18; qpn <= 27; ++qpn) all.push_back({operations, v4(2), wire::Qpn{qpn}});
    for (unsigned qpn = 18; qpn <= 26; qpn += 2) all.push_back({operations, v4(1), wire::Qpn{qpn}});
    for (const unsigned n : {1u, 2u}) {
        all.push_back({rping, v4(n), wire::Qpn{17}});
        all.push_back({ipv6, link_local(n), wire::Qpn{17}});
        all.push_back({ipv6, v6(n), wire::Qpn{18}});
        all.push_back({ipv6, v6(n), wire::Qpn{19}});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Captures, Replay, testing::ValuesIn(conversations()));

/// Where packets were lost, or found no receive request, the kernel waits for them to come again; we keep what came
/// early, are ready sooner, and acknowledge more at a time. But how many messages are complete at a PSN is the same.
class LossyReplay : public Replay {};

TEST_P(LossyReplay, CountsMessagesAsTheKernelDoes) {
    run();
    std::map<std::uint32_t, std::uint32_t> counted;
    for (const auto& each : kernel) {
        if (each.aeth >> 24 == 0) counted[each.psn] = each.aeth;
    }
    std::size_t compared = 0;
    for (const auto& each : ours) {
        const auto theirs = counted.find(each.psn);
        if (each.aeth >> 24 != 0 || theirs == counted.end()) continue;
        EXPECT_EQ(each.aeth, theirs->second) << each;
        ++compared;
    }
    EXPECT_GT(compared, 20u);
    std::cout << compared << " ACKs compared\n";
}

INSTANTIATE_TEST_SUITE_P(Captures, LossyReplay,
                         testing::Values(Conversation{"rxe-loss.pcap", v4(2), wire::Qpn{26}},
                                         Conversation{"rxe-rnr.pcap", v4(2), wire::Qpn{28}}));

}  // namespace
}  // namespace verbline::rdma
