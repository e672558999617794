// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/read_file.h"

namespace verbline::report {
namespace {

RdmaRound read_round(Fields& fields, const std::string& path) {
    const auto of = [&](const char* key) { return fmt::format("{}.{}", path, key); };
    return {.size = fields.number(of("MsgSize")),
            .iterations = fields.number(of("n_iterations")),
            .mega_messages = fields.number_if_there(of("MsgRate")),
            .typical = fields.number_if_there(of("t_typical")),
            .average = fields.number_if_there(of("t_avg")),
            .percentile_99 = fields.number_if_there(of("percentile_99")),
            .percentile_99_9 = fields.number_if_there(of("percentile_99.9"))};
}

}  // namespace

Result<Measurement> read_rdma(const std::string& file, const Json& document) {
    Fields fields(document);
    RdmaRun run{.file = file,
                .test = fields.text("test_info.test"),
                .transport = fields.text("test_info.Connection_type"),
                .device = fields.text("test_info.Device"),
                .pairs = fields.number("test_info.Number_of_qps"),
                .depth = fields.number_if_there("test_info.TX_depth").value_or(0),
                .mtu = fields.number_if_there("test_info.Mtu").value_or(0)};
    const auto rounds = fields.size_if_there("rounds");
    for (std::size_t i = 0; i < rounds && fields.problem().empty(); ++i)
        run.rounds.push_back(read_round(fields, fmt::format("rounds.{}", i)));
    // perftest's own files have the last round alone.
    if (rounds == 0) run.rounds.push_back(read_round(fields, "results"));
    if (const auto* const information = fields.find("test_info")) run.information = *information;
    if (const auto* const machine = fields.find("machine")) run.machine = *machine;
    if (!fields.problem().empty()) return incomplete(file, fields.problem(), "verbline bench rdma --json");
    return run;
}

}  // namespace verbline::report
