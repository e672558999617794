// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "apps/verbline/report/fields.h"
#include "apps/verbline/report/read_file.h"

namespace verbline::report {
namespace {

ComparedRow read_row(const Json& object, std::string& problem) {
    Fields fields(object);
    ComparedRow row{.name = fields.text("name"),
                    .unit = fields.text("unit"),
                    .peer = fields.text_if_there("peer"),
                    .note = fields.text_if_there("note"),
                    .ours = fields.number_if_there("ours"),
                    .peer_value = fields.number_if_there("peer_value"),
                    .ratio = fields.number_if_there("ratio"),
                    .goal = fields.number_if_there("goal"),
                    .spread_percent = fields.number_if_there("spread_pct"),
                    .limit = fields.text_if_there("limit"),
                    .limit_value = fields.number_if_there("limit_value"),
                    .of_limit = fields.number_if_there("of_limit")};
    if (const auto* const met = fields.find("ok"); met != nullptr && met->is_boolean()) row.met = met->get<bool>();
    if (problem.empty()) problem = fields.problem();
    return row;
}

std::vector<ComparedRow> read_rows(const Json& rows, std::string& problem) {
    std::vector<ComparedRow> read;
    if (!rows.is_array()) problem = "rows is no array";
    for (std::size_t i = 0; i < rows.size() && problem.empty(); ++i) {
        read.push_back(read_row(rows.is_array() ? rows[i] : Json(), problem));
        if (!problem.empty()) problem = fmt::format("row {}: {}", i + 1, problem);
    }
    return read;
}

}  // namespace

Result<Measurement> read_comparison(const std::string& file, const Json& document) {
    std::string problem;
    Comparison comparison{.file = file, .rows = read_rows(document, problem)};
    if (!problem.empty()) return incomplete(file, problem, "bench/compare --json");
    return comparison;
}

Result<Measurement> read_history(const std::string& file, const Json& runs) {
    History history{.file = file};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        Fields fields(runs[i]);
        PastRun run{.when = fields.text("when"),
                    .commit = fields.text_if_there("commit"),
                    .cpu = fields.text_if_there("machine.cpu"),
                    .cpus = fields.number_if_there("machine.cpus").value_or(0),
                    .machine = runs[i]["machine"]};
        auto problem = fields.problem();
        if (problem.empty()) run.rows = read_rows(runs[i]["rows"], problem);
        if (!problem.empty())
            return failure(EINVAL, fmt::format("{}: line {}: {}; remove the line", file, i + 1, problem));
        history.runs.push_back(std::move(run));
    }
    return history;
}

}  // namespace verbline::report
