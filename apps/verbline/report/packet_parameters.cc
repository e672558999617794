// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/report/packet_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::report {
namespace {

std::string counted(double number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string size_text(const PacketRun& run) {
    if (run.sizes.size() <= 1) return fmt::format("{} B", run.average_size);
    return fmt::format("mix of {} sizes, {} B", run.sizes.size(), run.average_size);
}

std::string protocol_text(const PacketRun& run) {
    return run.protocol.empty() ? "udp or tcp" : run.protocol;
}

std::string devices_text(const PacketRun& run) {
    return fmt::format("{}", fmt::join(run.devices, ", "));
}

Parameters parameters(const PacketRun& run, Varied varied, bool queues_follow) {
    Parameters all{{"role", run.role}, {"devices", devices_text(run)}};
    all.emplace_back("protocol", protocol_text(run));
    all.emplace_back("directions", run.directions > 1 ? "both directions" : "one direction");
    if (varied != Varied::size) all.emplace_back("size", size_text(run));
    if (varied != Varied::flows) all.emplace_back("flows", counted(run.flows, "flow"));
    if (varied != Varied::lcores) all.emplace_back("lcores", counted(run.lcores, "lcore"));
    if (!queues_follow) all.emplace_back("queues", counted(run.queues, "queue"));
    all.emplace_back("burst", fmt::format("bursts of {}", run.burst));
    return all;
}

}  // namespace verbline::report
