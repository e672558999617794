// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/read_file.h"

namespace verbline::report {
namespace {

/// A generator or a forwarder is measured by what it sends.
std::string direction(const std::string& role) {
    return role == "generator" || role == "forwarder" ? "tx" : "rx";
}

std::optional<Latency> latency(Fields& fields) {
    if (fields.find("latency_us") == nullptr) return std::nullopt;
    const auto of = [&](const char* key) { return fields.number(fmt::format("latency_us.{}", key)); };
    return Latency{.frames = of("frames"),
                   .least = of("min"),
                   .mean = of("mean"),
                   .most = of("max"),
                   .p50 = of("p50"),
                   .p90 = of("p90"),
                   .p99 = of("p99"),
                   .p99_9 = of("p99_9"),
                   .p99_99 = of("p99_99")};
}

std::vector<Bucket> histogram(Fields& fields) {
    std::vector<Bucket> buckets;
    const auto count = fields.size_if_there("latency_histogram_us");
    for (std::size_t i = 0; i < count && fields.problem().empty(); ++i)
        buckets.push_back({fields.number(fmt::format("latency_histogram_us.{}.0", i)),
                           fields.number(fmt::format("latency_histogram_us.{}.1", i))});
    return buckets;
}

/// Of those queues that have received something, or could have: beside others of their port.
std::vector<QueueShare> shares(Fields& fields) {
    std::vector<QueueShare> all;
    const auto count = fields.size("queues");
    for (std::size_t i = 0; i < count && fields.problem().empty(); ++i) {
        const auto of = [&](const char* key) { return fmt::format("queues.{}.{}", i, key); };
        const auto percent = fields.number_if_there(of("rx_percent"));
        if (!percent) continue;
        all.push_back({.port = fields.number(of("port")),
                       .queue = fields.number(of("queue")),
                       .lcore = fields.number(of("lcore")),
                       .packets = fields.number(of("rx_packets")),
                       .percent = *percent});
    }
    // A loopback of two ports receives from the second alone.
    std::map<double, double> of_port;
    for (const auto& share : all) of_port[share.port] += share.packets;
    std::erase_if(all, [&](const QueueShare& share) { return of_port[share.port] == 0; });
    return all.size() < 2 ? std::vector<QueueShare>() : all;
}

double queues_of_a_port(Fields& fields) {
    double most = 0;
    const auto count = fields.size("queues");
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, fields.number(fmt::format("queues.{}.queue", i)) + 1);
    return most;
}

std::vector<Trial> trials(Fields& fields) {
    std::vector<Trial> found;
    const auto count = fields.size_if_there("trials");
    for (std::size_t i = 0; i < count; ++i) {
        const auto of = [&](const char* key) { return fmt::format("trials.{}.{}", i, key); };
        const auto asked = fields.number_if_there(of("asked_mpps")), lost = fields.number_if_there(of("lost"));
        if (asked && lost) found.push_back({*asked, fields.number(of("tx_packets")), *lost});
    }
    return found;
}

template <class Value>
std::vector<Value> each(Fields& fields, const std::string& path, auto&& read) {
    std::vector<Value> values;
    const auto count = fields.size(path);
    for (std::size_t i = 0; i < count && fields.problem().empty(); ++i) values.push_back(read(i));
    return values;
}

}  // namespace

Result<Measurement> read_packet(const std::string& file, const Json& document) {
    Fields fields(document);
    PacketRun run{.file = file, .role = fields.text("role")};
    run.devices = each<std::string>(fields, "ports",
                                    [&](std::size_t i) { return fields.text(fmt::format("ports.{}.device", i)); });
    run.sizes = each<double>(fields, "frames.sizes",
                             [&](std::size_t i) { return fields.number(fmt::format("frames.sizes.{}", i)); });
    run.protocol = fields.text_if_there("frames.protocol");
    run.average_size = fields.number("frames.average_size");
    run.flows = fields.number("frames.flows");
    run.burst = fields.number("frames.burst");
    run.directions = fields.number_if_there("frames.directions").value_or(1);
    run.queues = queues_of_a_port(fields);
    run.lcores = static_cast<double>(fields.size("lcores"));
    const auto counted = direction(run.role);
    run.mpps = fields.number(fmt::format("result.{}_mpps", counted));
    // Of a forwarder only what it received is known in bits.
    run.gigabits = fields.number_if_there(fmt::format("result.{}_gbit_s", run.role == "forwarder" ? "rx" : counted));
    run.lost = fields.number_if_there("result.lost");
    run.latency = latency(fields);
    run.histogram = histogram(fields);
    run.shares = shares(fields);
    run.trials = trials(fields);
    if (const auto* const ports = fields.find("ports")) run.ports = *ports;
    if (const auto* const machine = fields.find("machine")) run.machine = *machine;
    if (!fields.problem().empty()) return incomplete(file, fields.problem(), "verbline bench packet --json");
    return run;
}

}  // namespace verbline::report
