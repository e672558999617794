// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/profile.h"

#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/verbline/bench/profile_plan.h"

namespace verbline::bench {
namespace {

const std::vector<OptionKind> known{{"device"}, {"size"}, {"queues"}, {"rfc2544"}, {"role"}, {"soak", true}};

/// Stands for the command: its options, of which a number must be one.
Result<PacketTexts> read_words(const std::vector<std::string>& words) {
    PacketTexts texts;
    for (const auto& word : words) {
        const auto equals = word.find('=');
        const auto name = word.substr(0, equals), value = word.substr(equals + 1);
        if (!word.starts_with("--")) texts.devices.push_back(word);
        if (name == "--size") texts.size = value;
        if (name == "--rfc2544") texts.search = value;
        if (name == "--offloads") texts.ports.offloads = value;
        if (name == "--role") texts.role = value;
        if (name == "--soak") texts.soak = value == "true";
        if (name == "--queues" && value.find_first_not_of("0123456789") != value.npos)
            return failure(EINVAL, "Could not convert: --queues = " + value);
        if (name == "--queues") texts.queues = static_cast<std::uint16_t>(std::stoi(value));
    }
    return texts;
}

Result<std::vector<PlannedRun>> plans(std::string_view text, const std::vector<SetOption>& given = {},
                                      std::span<const OptionKind> options = known) {
    const auto profile = parse_profile(text, "p.toml", options);
    if (!profile) return std::unexpected(profile.error());
    return plan_runs(*profile, given, read_words);
}
std::string profile_refusal(std::string_view text, const std::vector<SetOption>& given = {}) {
    const auto made = plans(text, given);
    return made ? "" : made.error().what;
}

TEST(PacketProfile, RunsHaveTheOptionsAboveThemAndTheirOwn) {
    const auto made = plans(R"(device = "dpdk:net_null0"
soak = true
queues = 2
[[run]]
size = 64
[[run]]
size = "imix"
soak = false
name = "mix")")
                          .value();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].name, "1");
    EXPECT_EQ(made[1].name, "mix");
    EXPECT_EQ(made[1].size, "imix");
    EXPECT_EQ(made[0].plan.sizes.largest(), 64u);
    EXPECT_EQ(made[1].plan.sizes.largest(), 1518u);
    EXPECT_TRUE(made[0].plan.soak);
    EXPECT_FALSE(made[1].plan.soak);
    EXPECT_EQ(made[1].plan.queues, 2);
}

TEST(PacketProfile, WithoutRunsIsOne) {
    const auto made = plans("device = ['dpdk:net_null0', 'dpdk:net_null1']\nsize = '128'").value();
    ASSERT_EQ(made.size(), 1u);
    EXPECT_EQ(made[0].plan.devices.size(), 2u);
    EXPECT_EQ(made[0].size, "128");
}

TEST(PacketProfile, AnOptionThatMayStandAloneIsTrueOrText) {
    const std::array options{OptionKind{"device"}, OptionKind{"offloads", false, true}};
    const auto made = [&](std::string_view value) {
        return plans(fmt::format("device = 'dpdk:net_null0'\noffloads = {}", value), {}, options);
    };
    const auto offloads = [&](std::string_view value) { return made(value).value()[0].plan.ports.texts.offloads; };
    EXPECT_EQ(offloads("true"), "all");
    EXPECT_EQ(offloads("false"), "none");
    EXPECT_EQ(offloads("'ipv4-cksum,tcp-tso'"), "ipv4-cksum,tcp-tso");
    EXPECT_EQ(made("'tcp'").error().what.find("p.toml:2: offloads: tcp is no offload"), 0u)
        << made("'tcp'").error().what;
}

TEST(PacketProfile, CommandLineWins) {
    const std::vector<SetOption> given{{"size", {"256"}}, {"device", {"dpdk:net_null7"}}};
    const auto made = plans("device = 'dpdk:net_null0'\n[[run]]\nsize = 64\n[[run]]\nqueues = 1", {given[1]});
    EXPECT_EQ(made.error().what, "p.toml:5: queues is the same for all runs; set it above the first [[run]]");
    const auto both = plans("device = 'dpdk:net_null0'\n[[run]]\nsize = 64\n[[run]]", given).value();
    for (const auto& run : both) EXPECT_EQ(run.size, "256");
    EXPECT_EQ(both[0].plan.device_texts, std::vector<std::string>{"dpdk:net_null7"});
}

TEST(PacketProfile, AllRunsHaveTheLargestMtu) {
    const auto made = plans("device = 'dpdk:net_null0'\n[[run]]\nsize = 64\n[[run]]\nsize = 9000").value();
    EXPECT_EQ(made[0].plan.mtu, 8982);
    EXPECT_EQ(made[1].plan.mtu, 8982);
}

TEST(PacketProfile, RefusesWithFileAndLine) {
    struct Case {
        std::string_view text, line;
    };
    for (const auto& [text, line] : std::array{
             Case{"size = 64\ncolour = 1",
                  "p.toml:2: unknown key colour in a profile; known: description, eal, run, device, size, queues, "
                  "rfc2544, role, soak"},
             Case{"[[run]]\ndescription = 'x'",
                  "p.toml:2: unknown key description in [[run]]; known: name, device, size, queues, rfc2544, role, "
                  "soak"},
             Case{"soak = 1", "p.toml:1: soak must be true or false"},
             Case{"\nsize = true", "p.toml:2: size must be a string or a number"},
             Case{"size = [64]", "p.toml:1: size must be a string or a number"},
             Case{"run = 1", "p.toml:1: run must be written as [[run]]"},
             Case{"device = 7", "p.toml:1: device must be a string or an array of strings"},
             Case{"queues = 'x'", "p.toml:1: Could not convert: --queues = x"},
             Case{"[[run]]\nrole = 'sink'", "p.toml:2: role is the same for all runs; set it above the first [[run]]"},
             Case{"device = 'dpdk:a'\n[[run]]\nsize = 64\n[[run]]\nsize = 63",
                  "p.toml:5: size: 63 is no frame size: give 64 to 9216, several as SIZE:WEIGHT,..., or imix"},
             Case{"role = 'sink'\ndevice = 'dpdk:a'\n[[run]]\nrfc2544 = 'loss'",
                  "p.toml:4: rfc2544 needs --role loopback, which knows what was sent and what arrived"},
             Case{"role = 'sink'\ndevice = ['dpdk:a', 'dpdk:b']", "p.toml:2: a sink has one DEVICE"},
             Case{"size = 64", "a loopback has one DEVICE or two"}})
        EXPECT_EQ(profile_refusal(text), line);
    EXPECT_EQ(profile_refusal("size = ").substr(0, 9), "p.toml:1:");
}

TEST(PacketProfile, CommandLineIsToBlameForItsOwn) {
    EXPECT_EQ(profile_refusal("device = 'dpdk:a'\nsize = 64", {{"size", {"63"}}}),
              "--size: 63 is no frame size: give 64 to 9216, several as SIZE:WEIGHT,..., or imix");
}

TEST(PacketProfile, NotesOtherEalArguments) {
    const auto profile = parse_profile("eal = '-l 0-1 -a 03:00.0'", "p.toml", known).value();
    const std::vector<std::string> same{"-l", "0-1", "-a", "03:00.0"}, other{"-l", "0-1"};
    EXPECT_EQ(eal_note(profile, same), "");
    EXPECT_EQ(eal_note(profile, other), "p.toml is meant for the EAL arguments -l 0-1 -a 03:00.0; these are -l 0-1");
    EXPECT_EQ(eal_note(profile, {}), "p.toml is meant for the EAL arguments -l 0-1 -a 03:00.0; these are none");
    EXPECT_EQ(eal_note({}, other), "");
}

}  // namespace
}  // namespace verbline::bench
