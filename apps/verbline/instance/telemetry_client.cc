// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/telemetry_client.h"

#include <cerrno>

#include <fmt/format.h>

#include "control/telemetry/command_prefix.h"

namespace verbline::cli {
namespace {

constexpr std::size_t longest_table = 100'000;  ///< rows: a process that never ends its table is cut off

/// Rows come as {"0": {...}, ...}; a flat object has no objects in it.
bool is_rows(const Json& value) {
    return value.empty() || value.begin()->is_object();
}

}  // namespace

Result<TelemetryClient> TelemetryClient::connect(const std::filesystem::path& socket, const pmd::Trust& trust) {
    auto connection = InstanceSocket::connect(socket, trust);
    if (!connection) return std::unexpected(connection.error());
    TelemetryClient client(std::move(*connection));
    const auto text = client.socket_.receive();
    if (!text) return std::unexpected(text.error());
    const auto greeting = Json::parse(*text, nullptr, false);
    if (!greeting.is_object() || !greeting.contains("pid") || !greeting["pid"].is_number_integer())
        return failure(EPROTO, client.socket_.path() + ": not a DPDK telemetry socket");
    client.pid_ = greeting["pid"].get<pid_t>();
    return client;
}

Result<Json> TelemetryClient::ask(const std::string& command) {
    if (auto sent = socket_.send(command); !sent) return std::unexpected(sent.error());
    const auto text = socket_.receive();
    if (!text) return std::unexpected(text.error());
    auto reply = Json::parse(*text, nullptr, false);
    if (!reply.is_object() || reply.size() != 1)
        return failure(EPROTO, fmt::format("{}: {} was not answered in JSON", socket_.path(), command));
    if (reply.begin()->is_null())
        return failure(ENODATA,
                       fmt::format("process {} does not answer {}; it is busy, or has no such table", pid_, command));
    return std::move(*reply.begin());
}

Result<std::vector<std::string>> TelemetryClient::tables() {
    const auto commands = ask("/");
    if (!commands) return std::unexpected(commands.error());
    std::vector<std::string> names;
    for (const auto& command : *commands) {
        if (!command.is_string()) continue;
        const auto& text = command.get_ref<const std::string&>();
        if (text.starts_with(telemetry::command_prefix)) names.push_back(text.substr(telemetry::command_prefix.size()));
    }
    return names;
}

Result<Json> TelemetryClient::table(std::string_view name) {
    Json rows = Json::array();
    while (rows.size() < longest_table) {
        auto page = ask(fmt::format("{}{},{}", telemetry::command_prefix, name, rows.size()));
        if (!page) return page;
        if (!page->is_object() || !is_rows(*page)) return page;
        if (page->empty()) break;
        for (auto& row : *page) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace verbline::cli
