// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/port_program.h"

#include <rte_rcu_qsbr.h>

#include "tests/datapath/program/bpf_objects.h"
#include "tests/support/fib_readers.h"

namespace verbline::program {
namespace {

/// One shard, which is this thread, between two polls unless it says otherwise.
class PortProgramTest : public ::testing::Test {
protected:
    PortProgramTest() {
        rte_rcu_qsbr_thread_register(readers_.get(), 0);
        rte_rcu_qsbr_thread_online(readers_.get(), 0);
    }
    ~PortProgramTest() override {
        rte_rcu_qsbr_thread_offline(readers_.get(), 0);
        rte_rcu_qsbr_thread_unregister(readers_.get(), 0);
    }

    void publish(std::string_view section) {
        auto program = port_.prepare(bpf_objects::object(section), log_);
        ASSERT_TRUE(program) << program.error().what;
        port_.publish(std::move(*program));
    }
    void poll() { rte_rcu_qsbr_quiescent(readers_.get(), 0); }
    std::uint64_t run() {
        const LookUpIn tables(port_.prefixes());
        verbline_packet packet{};
        return port_.current()->code(0)(packet);
    }

    test::FibReaders readers_ = test::fib_readers();
    VerifierLog log_;
    PortProgram port_{bpf_objects::port_names, 1, 1, *readers_};
};

TEST_F(PortProgramTest, HasNoProgramAtFirst) {
    EXPECT_EQ(port_.current(), nullptr);
    EXPECT_EQ(port_.port(), 1u);
    EXPECT_EQ(port_.ports(), 2u);
    EXPECT_EQ(port_.prefixes().ipv4.lookup(wire::ipv4(10, 0, 0, 1)), 0u);
}

TEST_F(PortProgramTest, OldProgramIsThereUntilNoShardCanRunIt) {
    publish("drop");
    EXPECT_EQ(port_.retired(), 0u);
    const auto* const old = port_.current();
    publish("pass");
    EXPECT_EQ(run(), VERBLINE_PASS);
    port_.reclaim();
    EXPECT_EQ(port_.retired(), 1u) << "the shard may have loaded it before";
    verbline_packet packet{};
    EXPECT_EQ(old->code(0)(packet), VERBLINE_DROP);
    poll();
    port_.reclaim();
    EXPECT_EQ(port_.retired(), 0u);
    port_.publish(nullptr);
    EXPECT_EQ(port_.current(), nullptr);
    poll();
    port_.reclaim();
    EXPECT_EQ(port_.retired(), 0u);
}

TEST_F(PortProgramTest, CountersStayWithAnotherProgramAndBeginAnewAfterNone) {
    publish("count");
    run(), run();
    EXPECT_EQ(port_.counters()[3], 2u);
    publish("count");
    run();
    EXPECT_EQ(port_.counters()[3], 3u);
    EXPECT_EQ(port_.counters()[4], 3u) << "which the program has from its state";
    port_.publish(nullptr);
    EXPECT_EQ(port_.counters()[3], 3u);
    publish("count");
    EXPECT_EQ(port_.counters()[3], 0u);
    run();
    EXPECT_EQ(port_.counters()[4], 1u);
}

TEST_F(PortProgramTest, PrefixesArePublishedLikePrograms) {
    const auto& old = port_.prefixes();
    port_.set_prefixes(std::make_unique<const PrefixTables>(
        PrefixTables{PrefixTable<wire::Ipv4Address>({{{wire::ipv4(10, 9, 0, 0), 16}, 5}}), {}}));
    EXPECT_EQ(port_.prefixes().ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 5u);
    port_.reclaim();
    EXPECT_EQ(port_.retired(), 1u);
    EXPECT_EQ(old.ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 0u) << "still there";
    poll();
    port_.reclaim();
    EXPECT_EQ(port_.retired(), 0u);
}

}  // namespace
}  // namespace verbline::program
