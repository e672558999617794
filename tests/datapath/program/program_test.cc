// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/program.h"

#include "tests/datapath/program/bpf_objects.h"

namespace verbline::program {
namespace {

using bpf_objects::object;

class LoadProgram : public ::testing::Test {
protected:
    std::string refusal(std::string_view section) {
        const auto program = Program::load(object(section), memory_, bpf_objects::port_names, log_);
        EXPECT_FALSE(program) << section;
        return program ? "" : program.error().what;
    }
    std::unique_ptr<Program> load(std::string_view section, std::string_view file = "programs") {
        auto program = Program::load(object(section, file), memory_, bpf_objects::port_names, log_);
        EXPECT_TRUE(program) << program.error().what;
        return program ? std::move(*program) : nullptr;
    }

    std::vector<ShardMemory> memory_{2};
    VerifierLog log_;
    PrefixTables tables_;
    verbline_packet packet_{};
};

TEST_F(LoadProgram, EachShardHasItsOwnMemory) {
    const auto program = load("count");
    ASSERT_TRUE(program);
    const LookUpIn tables(tables_);
    EXPECT_EQ(program->code(0)(packet_), VERBLINE_PASS);
    EXPECT_EQ(program->code(1)(packet_), VERBLINE_PASS);
    EXPECT_EQ(program->code(1)(packet_), VERBLINE_PASS);
    EXPECT_EQ(memory_[0].counters[3], 1u);
    EXPECT_EQ(memory_[1].counters[3], 2u);
    EXPECT_EQ(memory_[1].counters[4], 2u) << "which it has from its state";
    EXPECT_EQ(memory_[1].state[0], 2u);
    EXPECT_EQ(program->section(), "count");
    EXPECT_EQ(program->instructions(), object("count").instructions.size());
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST_F(LoadProgram, IsCompiled) {
    EXPECT_TRUE(load("pass")->compiled());
}
#endif

TEST_F(LoadProgram, SaysHowFarItReaches) {
    EXPECT_EQ(load("pass")->reach(), 0u);
    EXPECT_EQ(load("by_source")->reach(), 32u) << "data[15]";
    EXPECT_EQ(load("drop_prefixes", "drop_prefixes")->reach(), 32u) << "the source of an IPv6 header by a function";
    EXPECT_EQ(load("behind_header")->reach(), 64u) << "an index of 60 at most, computed from the packet";
    EXPECT_EQ(load("look")->reach(), 128u) << "the last byte";
}

TEST_F(LoadProgram, KnowsPortsByName) {
    const auto program = load("forward");
    ASSERT_TRUE(program);
    EXPECT_EQ(program->code(0)(packet_), VERBLINE_FORWARD(1));
    const std::vector<std::string> names{"ib0.8001", "eth-1", "lan"};
    const auto symbols = port_symbols(names);
    EXPECT_EQ(symbols[0].name, "verbline_port_ib0_8001");
    EXPECT_EQ(symbols[1].name, "verbline_port_eth_1");
    EXPECT_EQ(symbols[2].number, 2u);
}

TEST_F(LoadProgram, DivisionByZeroIsAFailure) {
    const auto program = load("by_source");
    ASSERT_TRUE(program);
    packet_.data[15] = 7;
    EXPECT_EQ(program->code(0)(packet_), VERBLINE_ABORT);
}

TEST_F(LoadProgram, RefusesWithTheVerifiersReason) {
    EXPECT_TRUE(refusal("loop").contains("loop")) << refusal("loop");
    EXPECT_TRUE(refusal("loop").ends_with("; unroll its loops (#pragma unroll)")) << refusal("loop");
    EXPECT_TRUE(refusal("beyond").starts_with("the verifier refuses it: memory boundary violation at pc: "))
        << refusal("beyond");
    EXPECT_TRUE(refusal("beyond").ends_with("; bound its array indices, as in data[i & 127]"));
    EXPECT_TRUE(refusal("beyond_counters").contains("memory boundary violation")) << refusal("beyond_counters");
    EXPECT_TRUE(refusal("number_as_pointer").starts_with("the verifier refuses it: "));
    for (const auto* section : {"loop", "beyond", "number_as_pointer"})
        EXPECT_FALSE(refusal(section).contains('\n')) << refusal(section);
}

TEST_F(LoadProgram, NamesWhatIsUnknown) {
    EXPECT_EQ(refusal("unknown"), "it uses verbline_unknown, which is not here: verbline_program.h has what is");
    EXPECT_EQ(refusal("unknown_port"), "it names a port nowhere, which this instance does not have");
}

/// A reason is the last refusal's, and the log is DPDK's again afterwards.
TEST_F(LoadProgram, ReasonsDoNotStay) {
    auto* const stream = rte_log_get_stream();
    refusal("beyond");
    EXPECT_FALSE(log_.last_line().empty());
    EXPECT_TRUE(load("pass"));
    EXPECT_FALSE(log_.last_line().contains("violation"));
    EXPECT_EQ(rte_log_get_stream(), stream);
}

/// Whatever the instructions are, the verifier refuses them or they run within their bounds.
TEST_F(LoadProgram, InstructionsMayBeWrong) {
    const auto good = object("police", "police");
    unsigned refused = 0;
    for (std::size_t at = 0; at < good.instructions.size(); ++at) {
        auto bad = good;
        bad.instructions[at].off = static_cast<std::int16_t>(bad.instructions[at].off + 0x200);
        if (!Program::load(bad, memory_, bpf_objects::port_names, log_)) ++refused;
    }
    EXPECT_GT(refused, 10u);
}

}  // namespace
}  // namespace verbline::program
