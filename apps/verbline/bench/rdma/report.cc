// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/report.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/rounded.h"

namespace verbline::rdma_bench {
namespace {

using bench::rounded;
using cli::Json;

/// A column of perftest's.
struct Column {
    std::string_view key;    ///< in JSON
    std::string_view title;  ///< in the header, with the space up to the next one
    int digits = 0;          ///< behind the point
};

// The titles, and the space between them, are an interface: scripts read them.
constexpr Column bandwidth_columns[]{{"MsgSize", "#bytes     "},
                                     {"n_iterations", "#iterations    "},
                                     {"BW_peak", "BW peak[MB/sec]    ", 2},
                                     {"BW_average", "BW average[MB/sec]   ", 2},
                                     {"MsgRate", "MsgRate[Mpps]", 6}};
constexpr Column gigabit_columns[]{{"MsgSize", "#bytes     "},
                                   {"n_iterations", "#iterations    "},
                                   {"BW_peak", "BW peak[Gb/sec]    ", 2},
                                   {"BW_average", "BW average[Gb/sec]   ", 2},
                                   {"MsgRate", "MsgRate[Mpps]", 6}};
constexpr Column latency_columns[]{{"MsgSize", "#bytes "},
                                   {"n_iterations", "#iterations    "},
                                   {"t_min", "t_min[usec]    ", 2},
                                   {"t_max", "t_max[usec]  ", 2},
                                   {"t_typical", "t_typical[usec]    ", 2},
                                   {"t_avg", "t_avg[usec]    ", 2},
                                   {"t_stdev", "t_stdev[usec]   ", 2},
                                   {"percentile_99", "99% percentile[usec]   ", 2},
                                   {"percentile_99.9", "99.9% percentile[usec] ", 2}};
constexpr Column timed_latency_columns[]{{"MsgSize", "#bytes        "},
                                         {"n_iterations", "#iterations       "},
                                         {"t_avg", "t_avg[usec]    ", 2},
                                         {"tps_average", "tps average", 2}};

std::span<const Column> columns(const RdmaPlan& plan) {
    if (plan.spec.measure == Measure::latency) {
        if (plan.timed()) return timed_latency_columns;
        return latency_columns;
    }
    if (plan.gigabits) return gigabit_columns;
    return bandwidth_columns;
}

std::string_view operation_name(Operation operation) {
    switch (operation) {
        case Operation::send: return "Send";
        case Operation::write: return "RDMA_Write";
        case Operation::read: return "RDMA_Read";
        case Operation::fetch_add: return "Atomic_FETCH_AND_ADD";
        case Operation::compare_swap: return "Atomic_CMP_AND_SWAP";
    }
    return "";
}

std::string_view transport_name(Transport transport) {
    constexpr std::string_view names[]{"RC", "UC", "UD", "XRC"};
    return names[std::to_underlying(transport)];
}

Json test_info(const RdmaPlan& plan, const PathFacts& path) {
    const auto& spec = plan.spec;
    const bool latency = spec.measure == Measure::latency;
    Json info{{"test",
               fmt::format("{}_{}{}{}_Test", operation_name(spec.operation), spec.bidirectional ? "Bidirectional_" : "",
                           spec.post_list > 1 ? "Post_List_" : "", latency ? "Latency" : "BW")},
              {"Dual_port", "OFF"},
              {"Device", text(plan.links.front())},
              {"Number_of_qps", spec.pairs},
              {"Transport_type", "IB"},
              {"Connection_type", transport_name(spec.transport)},
              {"Using_SRQ", spec.transport == Transport::xrc ? "ON" : "OFF"},
              {"PCIe_relax_order", "OFF"},
              {"ibv_wr_API", "OFF"},
              {"TX_depth", spec.tx_depth}};
    if (spec.post_list > 1) info["Post_List"] = spec.post_list;
    if (spec.operation == Operation::send && spec.bidirectional) info["RX_depth"] = spec.rx_depth;
    if (!latency) info["CQ_Moderation"] = plan.rounds.back().cq_moderation;
    info["Mtu"] = path.mtu;
    info["Link_type"] = path.infiniband ? "IB" : "Ethernet";
    if (!path.infiniband) info["GID_index"] = path.gid_index;
    if (spec.awaits_response())
        info["Outstand_reads"] = spec.reads;
    else
        info["Max_inline_data"] = spec.inline_bytes;
    info["rdma_cm_QPs"] = "OFF";
    info["Data_ex_method"] = "SIDR";
    return info;
}

Json bandwidth_row(const RdmaPlan& plan, const RoundResult& result) {
    const auto unit = plan.gigabits ? 1e9 / 8 : static_cast<double>(1 << 20);
    double average = result.ours.messages_per_second(), peak = result.ours.peak_messages_per_second();
    if (result.theirs) {
        average += result.theirs->messages_per_second();
        peak += result.theirs->peak_messages_per_second();
    }
    const auto bandwidth = [&](double rate) { return rounded(rate * result.round.size / unit, 2); };
    return {{"BW_peak", bandwidth(peak)}, {"BW_average", bandwidth(average)}, {"MsgRate", rounded(average / 1e6, 6)}};
}

Json latency_row(const RdmaPlan& plan, const RoundResult& result) {
    const auto& found = result.latency;
    if (plan.timed()) {
        const auto seconds = static_cast<double>(result.elapsed) / second;
        return {{"t_avg", rounded(found.average, 2)},
                {"tps_average", rounded(static_cast<double>(result.iterations) / seconds, 2)}};
    }
    return {{"t_min", rounded(found.least, 2)},
            {"t_max", rounded(found.most, 2)},
            {"t_typical", rounded(found.typical, 2)},
            {"t_avg", rounded(found.average, 2)},
            {"t_stdev", rounded(found.deviation, 2)},
            {"percentile_99", rounded(found.percentile_99, 2)},
            {"percentile_99.9", rounded(found.percentile_99_9, 2)}};
}

std::string cell(const Json& value, int digits) {
    return digits == 0 ? value.dump() : fmt::format("{:.{}f}", value.get<double>(), digits);
}

std::string_view trimmed(std::string_view title) {
    return title.substr(0, title.find_last_not_of(' ') + 1);
}

}  // namespace

Json result_row(const RdmaPlan& plan, const RoundResult& result) {
    Json row{{"MsgSize", result.round.size}, {"n_iterations", result.iterations}};
    row.update(plan.spec.measure == Measure::bandwidth ? bandwidth_row(plan, result) : latency_row(plan, result));
    return row;
}

std::string header_line(const RdmaPlan& plan) {
    std::string line = " ";
    for (const auto& column : columns(plan)) line += column.title;
    return line + "\n";
}

std::string row_line(const RdmaPlan& plan, const RoundResult& result) {
    const auto row = result_row(plan, result);
    std::string line = " ";
    for (const auto& column : columns(plan))
        line += fmt::format("{:<{}}", cell(row[std::string(column.key)], column.digits), column.title.size());
    return std::string(trimmed(line)) + "\n";
}

std::string rule() {
    return fmt::format("{:-<87}\n", "");
}

std::string csv_header(const RdmaPlan& plan) {
    std::string line;
    for (const auto& column : columns(plan)) line.append(line.empty() ? "" : ",").append(trimmed(column.title));
    return line + "\n";
}

std::string csv_row(const RdmaPlan& plan, const RoundResult& result) {
    const auto row = result_row(plan, result);
    std::string line;
    for (const auto& column : columns(plan))
        line.append(line.empty() ? "" : ",").append(cell(row[std::string(column.key)], column.digits));
    return line + "\n";
}

Json client_json(const RdmaPlan& plan, const PathFacts& path, std::span<const RoundResult> results,
                 const Json& machine) {
    Json rounds = Json::array();
    for (const auto& result : results) {
        auto row = result_row(plan, result);
        row["sent"] = result.sent;
        if (!plan.spec.one_sided()) row["delivered"] = result.delivered;
        rounds.push_back(row);
    }
    return {{"test_info", test_info(plan, path)},
            {"results", results.empty() ? Json::object() : result_row(plan, results.back())},
            {"rounds", rounds},
            {"machine", machine}};
}

Json served_rows(std::span<const ServedRound> rounds) {
    Json rows = Json::array();
    for (const auto& [round, account] : rounds)
        rows.push_back({{"bytes", round.size},
                        {"received", account.received},
                        {"received_bytes", account.received_bytes},
                        {"sent", account.sent},
                        {"atomics", account.atomics}});
    return rows;
}

}  // namespace verbline::rdma_bench
