// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/read_file.h"

namespace verbline::report {
namespace {

IpoibRow read_ipoib_row(Fields& fields, std::size_t number) {
    const auto of = [number](const char* key) { return fmt::format("results.{}.{}", number, key); };
    return {.carrier = fields.text(of("carrier")),
            .direction = fields.text(of("direction")),
            .offload = fields.text(of("offload")),
            .protocol = fields.text(of("protocol")),
            .size = fields.number(of("size")),
            .nanoseconds = fields.number(of("ns_per_packet")),
            .mpps = fields.number(of("mpps")),
            .gigabits = fields.number(of("gbit_s")),
            .spread_percent = fields.number(of("spread_percent")),
            .ratio = fields.number_if_there(of("ratio")),
            .ratio_spread_percent = fields.number_if_there(of("ratio_spread_percent"))};
}

}  // namespace

Result<Measurement> read_ipoib(const std::string& file, const Json& document) {
    Fields fields(document);
    IpoibRun run{.file = file, .mtu = fields.number("traffic.mtu"), .burst = fields.number("traffic.burst")};
    const auto ports = fields.size("ports");
    for (std::size_t i = 0; i < ports; ++i) run.devices.push_back(fields.text(fmt::format("ports.{}.device", i)));
    const auto rows = fields.size("results");
    for (std::size_t i = 0; i < rows && fields.problem().empty(); ++i) run.rows.push_back(read_ipoib_row(fields, i));
    if (const auto* const found = fields.find("ports")) run.ports = *found;
    if (const auto* const machine = fields.find("machine")) run.machine = *machine;
    if (!fields.problem().empty()) return incomplete(file, fields.problem(), "verbline bench ipoib --json");
    return run;
}

}  // namespace verbline::report
