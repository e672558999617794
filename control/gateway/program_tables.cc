// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/program_tables.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "control/gateway/shard_tables.h"
#include "datapath/wire/text.h"

namespace verbline::gateway {

using telemetry::Json;

namespace {

constexpr std::string_view counter_prefix = "program_";

Json program_row(const View& gateway, const Programs::Port& port) {
    const auto* const running = port.running();
    Json row{{"port", port.name()},
             {"number", port.engine().port()},
             {"program", port.source().file},
             {"section", running != nullptr ? running->section() : ""},
             {"runs", running == nullptr    ? ""
                      : running->compiled() ? "compiled"
                                            : "interpreted"},
             {"instructions", running != nullptr ? Json(running->instructions()) : Json("")},
             {"loads", port.loads()},
             {"retired", port.engine().retired()},
             {"prefixes", port.ipv4().size() + port.ipv6().size()}};
    port_counters(gateway, port.name()).each([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name.starts_with(counter_prefix)) row[std::string(name.substr(counter_prefix.size()))] = value;
    });
    return row;
}

template <class Prefixes>
void add_prefixes(Json& rows, const std::string& port, const Prefixes& prefixes) {
    for (const auto& [prefix, value] : prefixes)
        rows.push_back({{"port", port}, {"prefix", to_string(prefix)}, {"value", value}});
}

}  // namespace

Json programs(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.programs.ports()) rows.push_back(program_row(gateway, port));
    return rows;
}

Json program_counters(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.programs.ports()) {
        const auto counters = port.engine().counters();
        for (std::size_t i = 0; i < counters.size(); ++i)
            if (counters[i] != 0) rows.push_back({{"port", port.name()}, {"counter", i}, {"value", counters[i]}});
    }
    return rows;
}

Json program_prefixes(const View& gateway) {
    auto rows = Json::array();
    for (const auto& port : gateway.programs.ports()) {
        add_prefixes(rows, port.name(), port.ipv4());
        add_prefixes(rows, port.name(), port.ipv6());
    }
    return rows;
}

}  // namespace verbline::gateway
