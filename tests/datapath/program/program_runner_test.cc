// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/program_runner.h"

#include <rte_mbuf.h>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "tests/datapath/program/bpf_objects.h"
#include "tests/support/fib_readers.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::program {
namespace {

using test::ByteVector, test::Packet;
using wire::ipv4;

ByteVector from_host(unsigned host, std::size_t payload = 100) {
    ByteVector packet = test::pattern(wire::Ipv4::size + payload);
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(packet.size()),
               .time_to_live = 64,
               .source = ipv4(10, 1, 0, host),
               .destination = ipv4(10, 2, 0, 2)}
        .with_checksum()
        .emit(std::span(packet).first<wire::Ipv4::size>());
    return packet;
}

class RunProgram : public ::testing::Test {
protected:
    void use(std::string_view section, std::string_view file = "programs") {
        auto program = port_.prepare(bpf_objects::object(section, file), log_);
        ASSERT_TRUE(program) << program.error().what;
        port_.publish(std::move(*program));
    }
    /// Of the last one.
    std::uint64_t counter(std::size_t number) const { return port_.counters()[number]; }
    /// Returns how many pass: it, or none.
    std::size_t run(Packet packet, Family family = Family::ipv4, std::size_t at = 0) {
        auto* one = packet.release();
        const auto outcome = runner_.run({&one, 1}, {&family, 1}, at, now_, forwarded_);
        if (outcome.kept == 1) kept_.emplace_back(one);
        return outcome.kept;
    }

    test::FibReaders readers_ = test::fib_readers();
    VerifierLog log_;
    PortProgram port_{bpf_objects::port_names, 0, 2, *readers_};
    ProgramRunner runner_{port_, 1};
    Forwarded forwarded_;
    std::vector<Packet> kept_;
    Time now_ = 12'345;
};

TEST_F(RunProgram, WithoutOneAllPass) {
    EXPECT_FALSE(runner_.active());
    EXPECT_EQ(run(test::make_packet(from_host(1))), 1u);
    EXPECT_EQ(runner_.counters().program_passed.value(), 0u) << "by no program";
}

TEST_F(RunProgram, EachVerdictHasItsCounter) {
    use("by_source");
    EXPECT_TRUE(runner_.active());
    const auto in_use = rte_mempool_in_use_count(test::packet_pool());
    std::array<rte_mbuf*, 9> burst;
    for (unsigned host = 0; host < burst.size(); ++host) burst[host] = test::make_packet(from_host(host)).release();
    const auto first = burst[0], last = burst[8], second = burst[2];
    std::array<Family, burst.size()> families;
    families.fill(Family::ipv4);
    const auto outcome = runner_.run(burst, families, 0, now_, forwarded_);
    ASSERT_EQ(outcome.kept, 2u);
    EXPECT_EQ(outcome.gone_bytes, 7 * 120u);
    EXPECT_EQ(burst[0], first);
    EXPECT_EQ(burst[1], last) << "in their order";
    ASSERT_EQ(forwarded_.size, 1u);
    EXPECT_EQ(forwarded_.packets[0], second);
    EXPECT_EQ(forwarded_.ports[0], 1u);
    EXPECT_EQ(forwarded_.families[0], Family::ipv4);
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), in_use + 3) << "the others are freed";
    const auto& counters = runner_.counters();
    EXPECT_EQ(counters.program_passed.value(), 2u);
    EXPECT_EQ(counters.program_dropped.value(), 1u);
    EXPECT_EQ(counters.program_forwarded.value(), 1u);
    EXPECT_EQ(counters.program_no_port.value(), 1u);
    EXPECT_EQ(counters.program_aborted.value(), 4u) << "abort, no verdict, a verdict with a port, a division by zero";
    for (auto* packet : {first, last, second}) rte_pktmbuf_free(packet);
}

TEST_F(RunProgram, ShowsThePacketAndWhereItIs) {
    use("look");
    const auto bytes = from_host(9, 300);
    for (int turn = 0; turn < 2; ++turn) {  // what it wrote the first time is gone
        ASSERT_EQ(run(test::make_packet(bytes)), 1u);
        EXPECT_EQ(counter(0), 12'345u);
        EXPECT_EQ(counter(1), 320u);
        EXPECT_EQ(counter(2), 128u);
        EXPECT_EQ(counter(3), 0u);
        EXPECT_EQ(counter(4), 1u);
        EXPECT_EQ(counter(5), 2u);
        EXPECT_EQ(counter(6), 4u);
        EXPECT_EQ(counter(7), 0x45u);
        EXPECT_EQ(counter(8), std::to_integer<unsigned>(bytes[127]));
        EXPECT_EQ(counter(10), 320u);
        EXPECT_EQ(counter(11), 0x0a01'0009u);
    }
    EXPECT_EQ(test::bytes_of(kept_.back()), bytes) << "nor has it changed the packet";
}

TEST_F(RunProgram, BehindAShortPacketThereAreZeros) {
    use("look");
    ASSERT_EQ(run(test::make_packet(from_host(9, 300))), 1u);
    const auto bytes = from_host(9, 21);
    ASSERT_EQ(run(test::make_packet(bytes)), 1u);
    EXPECT_EQ(counter(1), 41u);
    EXPECT_EQ(counter(2), 41u);
    EXPECT_EQ(counter(8), 0u);
    EXPECT_EQ(counter(9), std::to_integer<unsigned>(bytes[40]));
    ASSERT_EQ(run(test::make_packet(std::span(bytes).first(3))), 1u) << "not even a header";
    EXPECT_EQ(counter(2), 3u);
    EXPECT_EQ(counter(11), 0u);
}

TEST_F(RunProgram, CollectsAPacketOfSeveralBuffers) {
    use("look");
    const auto bytes = from_host(9, 300);
    ASSERT_EQ(run(test::make_packet(bytes, 50)), 1u);
    EXPECT_EQ(counter(1), 320u);
    EXPECT_EQ(counter(2), 128u);
    EXPECT_EQ(counter(8), std::to_integer<unsigned>(bytes[127]));
    ASSERT_EQ(run(test::make_packet(std::span(bytes).first(90), 50)), 1u);
    EXPECT_EQ(counter(2), 90u);
    EXPECT_EQ(counter(8), 0u);
}

TEST_F(RunProgram, LooksBehindALinksHeader) {
    use("look");
    const auto packet = from_host(9, 300);
    ByteVector frame(14, std::byte{0xee});
    frame.insert(frame.end(), packet.begin(), packet.end());
    for (const std::size_t buffer : {2304, 50}) {
        ASSERT_EQ(run(test::make_packet(frame, buffer), Family::ipv4, 14), 1u);
        EXPECT_EQ(counter(1), 320u);
        EXPECT_EQ(counter(2), 128u);
        EXPECT_EQ(counter(7), 0x45u);
        EXPECT_EQ(counter(8), std::to_integer<unsigned>(packet[127]));
    }
    ASSERT_EQ(run(test::make_packet(std::span(frame).first(14)), Family::ipv4, 14), 1u) << "nothing behind it";
    EXPECT_EQ(counter(2), 0u);
    EXPECT_EQ(counter(7), 0u);
}

TEST_F(RunProgram, SeesNothingOfNoFamily) {
    use("by_source");
    std::array burst{test::make_packet(from_host(1)).release(), test::make_packet(from_host(1)).release(),
                     test::make_packet(from_host(1)).release()};
    const auto first = burst[0], last = burst[2];
    const auto outcome = runner_.run(burst, std::array{Family::none, Family::ipv4, Family::none}, 0, now_, forwarded_);
    EXPECT_EQ(outcome.kept, 2u);
    EXPECT_EQ(burst[0], first);
    EXPECT_EQ(burst[1], last);
    EXPECT_EQ(runner_.counters().program_passed.value(), 0u);
    EXPECT_EQ(runner_.counters().program_dropped.value(), 1u);
    for (auto* packet : {first, last}) rte_pktmbuf_free(packet);
}

TEST_F(RunProgram, ReadsWhereTheHeaderSays) {
    use("behind_header");
    auto bytes = from_host(9, 300);
    run(test::make_packet(bytes));
    EXPECT_EQ(counter(0), std::to_integer<unsigned>(bytes[20]));
    bytes[0] = std::byte{0x4f};
    run(test::make_packet(bytes));
    EXPECT_EQ(counter(0), std::to_integer<unsigned>(bytes[60]));
}

TEST_F(RunProgram, LooksAddressesUp) {
    use("look_up");
    port_.set_prefixes(std::make_unique<const PrefixTables>(
        PrefixTables{PrefixTable<wire::Ipv4Address>({{{ipv4(10, 1, 0, 0), 24}, 3}}),
                     PrefixTable<wire::Ipv6Address>(
                         {{test::ipv6_prefix("fd76:1::/32"), 4}, {test::ipv6_prefix("fd76:2::/32"), 5}})}));
    run(test::make_packet(from_host(9)));
    EXPECT_EQ(counter(0), 3u);
    ByteVector packet(wire::Ipv6::size);
    wire::Ipv6{.source = test::ipv6("fd76:1::7"), .destination = test::ipv6("fd76:2::7")}.emit(
        std::span(packet).first<wire::Ipv6::size>());
    run(test::make_packet(packet), Family::ipv6);
    EXPECT_EQ(counter(0), 4u);
    EXPECT_EQ(counter(1), 5u);
}

TEST_F(RunProgram, ExampleDropsByPrefix) {
    use("", "drop_prefixes");
    port_.set_prefixes(std::make_unique<const PrefixTables>(
        PrefixTables{PrefixTable<wire::Ipv4Address>({{{ipv4(10, 1, 0, 8), 29}, 2}}), {}}));
    EXPECT_EQ(run(test::make_packet(from_host(9))), 0u);
    EXPECT_EQ(run(test::make_packet(from_host(16))), 1u);
    EXPECT_EQ(counter(2), 1u);
    EXPECT_EQ(runner_.counters().program_dropped.value(), 1u);
}

/// It was compiled for 1000 bytes a second, bursts of 2000, and there are two cores.
TEST_F(RunProgram, ExamplePolices) {
    use("", "police");
    port_.set_prefixes(std::make_unique<const PrefixTables>(
        PrefixTables{PrefixTable<wire::Ipv4Address>({{{ipv4(10, 2, 0, 0), 24}, 1}}), {}}));
    now_ = 1000 * second;
    const auto pass = [&](unsigned packets) {
        std::size_t passed = 0;
        for (unsigned i = 0; i < packets; ++i) passed += run(test::make_packet(from_host(1, 80)));
        return passed;
    };
    EXPECT_EQ(pass(30), 20u) << "the burst";
    EXPECT_EQ(counter(1), 10u);
    now_ += second;
    EXPECT_EQ(pass(30), 5u) << "half of the rate";
    now_ += 60 * second;
    EXPECT_EQ(pass(30), 20u) << "no more than the burst";
}

}  // namespace
}  // namespace verbline::program
