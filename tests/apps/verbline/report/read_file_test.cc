// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/read_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/apps/verbline/report/samples.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::report {
namespace {

std::string refusal(const std::string& text) {
    const auto read = read_text("a.json", text);
    return read ? "read" : read.error().what;
}

TEST(ReadFile, RunsOfAProfileAreAsManyMeasurements) {
    auto first = packet_json(), second = packet_json();
    first["run"] = "1", second["run"] = "large";
    second["frames"]["protocol"] = "roce2", second["frames"]["directions"] = 2;
    const auto runs = read_text("a.json", Json::array({first, second}).dump()).value();
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(std::get<PacketRun>(runs[0]).file, "a.json, run 1");
    EXPECT_EQ(std::get<PacketRun>(runs[1]).file, "a.json, run large");
    EXPECT_EQ(std::get<PacketRun>(runs[0]).directions, 1);
    EXPECT_EQ(std::get<PacketRun>(runs[1]).directions, 2);
    EXPECT_EQ(std::get<PacketRun>(runs[1]).protocol, "roce2");
    second.erase("role");
    EXPECT_EQ(refusal(Json::array({first, second}).dump()),
              "a.json, run large: role is missing; write it again by verbline bench packet --json");
    EXPECT_EQ(refusal(Json::array({first, 1}).dump()),
              "a.json: role is missing; write it again by verbline bench packet --json");
}

TEST(ReadFile, PacketRun) {
    const auto run = read<PacketRun>(packet_json());
    EXPECT_EQ(run.role, "loopback");
    EXPECT_EQ(run.devices, std::vector<std::string>{"dpdk:net_ring0"});
    EXPECT_EQ(run.average_size, 64);
    EXPECT_EQ(run.flows, 100);
    EXPECT_EQ(run.queues, 2);
    EXPECT_EQ(run.lcores, 2);
    EXPECT_EQ(run.mpps, 0.495);
    EXPECT_EQ(run.gigabits, 0.2534);
    EXPECT_EQ(run.lost, 10);
    EXPECT_EQ(run.latency->p99_99, 32);
    EXPECT_EQ(run.histogram.size(), 3u);
    EXPECT_EQ(run.shares[1].percent, 49.495);
}

TEST(ReadFile, GeneratorIsMeasuredByWhatItSends) {
    auto document = packet_json();
    document["role"] = "generator";
    EXPECT_EQ(read<PacketRun>(document).mpps, 0.5);
    EXPECT_EQ(read<PacketRun>(document).gigabits, 0.256);
}

TEST(ReadFile, SharesAreOfPortsThatReceive) {
    auto document = packet_json();
    document["queues"][0]["port"] = 1;
    document["queues"][0]["rx_packets"] = 0;
    EXPECT_TRUE(read<PacketRun>(document).shares.empty());
}

TEST(ReadFile, OptionalPartsMayBeMissing) {
    auto document = packet_json();
    for (const auto* const key : {"latency_us", "latency_histogram_us", "machine"}) document.erase(key);
    document["result"].erase("lost");
    const auto run = read<PacketRun>(document);
    EXPECT_FALSE(run.latency);
    EXPECT_TRUE(run.histogram.empty());
    EXPECT_FALSE(run.lost);
}

TEST(ReadFile, RdmaRun) {
    const auto run = read<RdmaRun>(rdma_json());
    EXPECT_EQ(run.test, "Send_BW_Test");
    ASSERT_EQ(run.rounds.size(), 2u);
    EXPECT_EQ(run.rounds[1].size, 128);
    EXPECT_EQ(run.rounds[1].mega_messages, 2);
}

TEST(ReadFile, RdmaRunOfPerftestHasItsLastRound) {
    auto document = rdma_json();
    document.erase("rounds");
    document["results"].erase("MsgRate");
    document["results"]["percentile_99.9"] = 9.5;
    const auto run = read<RdmaRun>(document);
    ASSERT_EQ(run.rounds.size(), 1u);
    EXPECT_EQ(run.rounds[0].size, 128);
    EXPECT_FALSE(run.rounds[0].mega_messages);
    EXPECT_EQ(run.rounds[0].percentile_99_9, 9.5);
}

TEST(ReadFile, IpoibRun) {
    const auto run = read<IpoibRun>(ipoib_json());
    EXPECT_EQ(run.devices, std::vector<std::string>{"dpdk:net_ring0"});
    ASSERT_EQ(run.rows.size(), 8u);
    EXPECT_EQ(run.rows[0].carrier, "ethernet");
    EXPECT_FALSE(run.rows[0].ratio);
    EXPECT_EQ(run.rows[1].carrier, "soft_ib");
    EXPECT_EQ(run.rows[1].nanoseconds, 40);
    EXPECT_EQ(run.rows[1].ratio, 0.1);
}

TEST(ReadFile, LimitsOfComparedRows) {
    auto rows = comparison_json();
    EXPECT_EQ(read<Comparison>(rows).rows[0].limit, "");
    rows[0]["limit"] = "one copy", rows[0]["limit_value"] = 5.0, rows[0]["of_limit"] = 0.5;
    const auto row = read<Comparison>(rows).rows[0];
    EXPECT_EQ(row.limit, "one copy");
    EXPECT_EQ(row.limit_value, 5);
    EXPECT_EQ(row.of_limit, 0.5);
}

TEST(ReadFile, Comparison) {
    const auto comparison = read<Comparison>(comparison_json());
    ASSERT_EQ(comparison.rows.size(), 2u);
    EXPECT_EQ(comparison.rows[0].ratio, 1.2);
    EXPECT_EQ(comparison.rows[0].met, true);
    EXPECT_FALSE(comparison.rows[1].ratio);
    EXPECT_FALSE(comparison.rows[1].met);
}

TEST(ReadFile, HistoryOfOneLineAndOfSeveral) {
    const auto line = past_run_json().dump();
    EXPECT_EQ(std::get<History>(read_text("h", line).value().front()).runs.size(), 1u);
    EXPECT_EQ(std::get<History>(read_text("h", line + "\n").value().front()).runs.size(), 1u);
    EXPECT_EQ(std::get<History>(read_text("h", line + "\n" + line + "\n").value().front()).runs.size(), 2u);
}

TEST(ReadFile, OtherFilesAreRefused) {
    const std::string none =
        "a.json: is no JSON; write it by --json of verbline bench or bench/compare, or by "
        "bench/compare --history";
    const std::string other =
        "a.json: is JSON of another program; give what verbline bench packet, verbline bench rdma, "
        "verbline bench ipoib or bench/compare wrote";
    EXPECT_EQ(refusal(""), "a.json: is empty; did what writes it fail?");
    EXPECT_EQ(refusal("seconds,tx_packets\n1,2\n"), none);
    EXPECT_EQ(refusal(packet_json().dump().substr(0, 100)), none);
    EXPECT_EQ(refusal(past_run_json().dump() + "\n{\"when\": "), none);
    EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']')), none);
    for (const auto* const text : {"{}", "[]", "1", "null", "[1]", "[{\"name\": 1}]", "{\"served\": []}"})
        EXPECT_EQ(refusal(text), other) << text;
}

TEST(ReadFile, MissingFieldsAreNamed) {
    auto packet = packet_json();
    packet["result"].erase("rx_mpps");
    EXPECT_EQ(refusal(packet.dump()),
              "a.json: result.rx_mpps is missing; write it again by verbline bench packet --json");
    packet = packet_json();
    packet["frames"]["flows"] = "many";
    EXPECT_EQ(refusal(packet.dump()),
              "a.json: frames.flows is no number, or below 0; write it again by verbline bench packet --json");
    packet = packet_json();
    packet["latency_histogram_us"][1] = 7;
    EXPECT_EQ(refusal(packet.dump()),
              "a.json: latency_histogram_us.1.0 is missing; write it again by verbline bench packet --json");
    auto rdma = rdma_json();
    rdma["rounds"][1].erase("MsgSize");
    EXPECT_EQ(refusal(rdma.dump()),
              "a.json: rounds.1.MsgSize is missing; write it again by verbline bench rdma --json");
    auto ipoib = ipoib_json();
    ipoib["results"][2].erase("carrier");
    EXPECT_EQ(refusal(ipoib.dump()),
              "a.json: results.2.carrier is missing; write it again by verbline bench ipoib --json");
    auto rows = comparison_json();
    rows[1]["unit"] = 3;
    EXPECT_EQ(refusal(rows.dump()), "a.json: row 2: unit is no text; write it again by bench/compare --json");
    auto run = past_run_json();
    run["rows"][0].erase("name");
    EXPECT_EQ(refusal(past_run_json().dump() + "\n" + run.dump()),
              "a.json: line 2: row 1: name is missing; remove the line");
}

TEST(ReadFile, FilesThatCannotBeRead) {
    const cli::Scratch scratch;
    const auto none = read_file(scratch.path() / "none");
    EXPECT_EQ(none.error().what,
              (scratch.path() / "none").string() + ": No such file or directory; name a file that can be read");
    EXPECT_EQ(read_file(scratch.path()).error().what,
              scratch.path().string() + ": Is a directory; name a file that can be read");
    EXPECT_TRUE(read_file(scratch.write("a", packet_json().dump())));
}

}  // namespace
}  // namespace verbline::report
