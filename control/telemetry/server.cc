// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/server.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <rte_telemetry.h>

#include "control/telemetry/command_prefix.h"
#include "control/telemetry/encode.h"
#include "control/telemetry/exchange.h"

namespace verbline::telemetry {
namespace {

/// The only global of the program: DPDK passes these callbacks no context (releases before 24.07) and cannot unregister
/// a command, so callbacks find the current server here.
struct Registry {
    std::mutex mutex;
    std::shared_ptr<Exchange> current;
    std::set<std::string> registered;
};

Registry& registry() {
    static Registry registry;
    return registry;
}

/// The row to start with: "" or a number, nothing else.
std::optional<std::size_t> offset(const char* parameters) {
    const std::string_view text = parameters == nullptr ? "" : parameters;
    std::size_t first = 0;
    if (text.empty()) return first;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), first);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return first;
}

/// On a telemetry thread. A negative value makes the reply null.
int reply(const char* command, const char* parameters, rte_tel_data* data) {
    const std::string_view table = std::string_view(command).substr(command_prefix.size());
    const auto first = offset(parameters);
    const auto exchange = [] {
        const std::lock_guard lock(registry().mutex);
        return registry().current;
    }();
    if (!first || !exchange) return -1;
    const auto rows = exchange->ask(table, *first);
    if (!rows) return -1;
    if (!rows->is_array()) {
        encode_object(*rows, data);
        exchange->finished(table);
        return 0;
    }
    const auto encoded = encode_rows(*rows, *first, data);
    if (*first + encoded >= rows->size()) exchange->finished(table);
    return encoded == 0 && *first < rows->size() ? -1 : 0;  // out of memory: rows are left
}

bool well_named(const Table& table) {
    constexpr auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !table.name.empty() && std::ranges::all_of(table.name, letter);
}

}  // namespace

Result<Server> Server::open(std::vector<Table> tables, Executor execute, std::chrono::milliseconds answer_limit) {
    auto& all = registry();
    const std::lock_guard lock(all.mutex);
    if (all.current) return failure(EBUSY, "this process serves telemetry already");
    for (const auto& table : tables) {
        const std::string command = std::string(command_prefix) + table.name;
        if (all.registered.contains(command)) continue;
        if (!well_named(table) || rte_telemetry_register_cmd(command.c_str(), reply, table.help.c_str()) != 0)
            return failure(EINVAL, "DPDK refuses the telemetry command " + command);
        all.registered.insert(command);
    }
    all.current = std::make_shared<Exchange>(std::move(tables), std::move(execute), answer_limit);
    return Server(all.current);
}

Server::~Server() {
    if (!exchange_) return;  // moved from
    exchange_->close();
    const std::lock_guard lock(registry().mutex);
    registry().current.reset();
}

}  // namespace verbline::telemetry
