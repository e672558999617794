// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/telemetry_client.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "control/telemetry/command_prefix.h"

namespace verbline::cli {
namespace {

constexpr std::size_t longest_reply = 64 * 1024;  ///< DPDK's is 16 KiB
constexpr std::size_t longest_table = 100'000;    ///< rows: a process that never ends its table is cut off

constexpr std::string_view advice = "its output is not trusted; remove it, or run this as its owner";

/// Rows come as {"0": {...}, ...}; a flat object has no objects in it.
bool is_rows(const Json& value) {
    return value.empty() || value.begin()->is_object();
}

}  // namespace

Result<TelemetryClient> TelemetryClient::connect(const std::filesystem::path& socket, const pmd::Trust& trust) {
    const std::string path = socket;
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path) return failure(ENAMETOOLONG, path + ": too long for a socket's path");
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (auto good = pmd::check_path(path, advice, trust); !good) return std::unexpected(good.error());

    FileDescriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    // The server itself answers within a second; connect waits as well, while the server's backlog is full.
    const timeval limit{.tv_sec = 3, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failure(errno, fmt::format("{}: {}", path, std::strerror(errno)));
    if (auto good = pmd::check_server(fd.get(), path, advice, trust); !good) return std::unexpected(good.error());

    TelemetryClient client(std::move(fd), path);
    const auto text = client.receive();
    if (!text) return std::unexpected(text.error());
    const auto greeting = Json::parse(*text, nullptr, false);
    if (!greeting.is_object() || !greeting.contains("pid") || !greeting["pid"].is_number_integer())
        return failure(EPROTO, path + ": not a DPDK telemetry socket");
    client.pid_ = greeting["pid"].get<pid_t>();
    return client;
}

Result<Json> TelemetryClient::ask(const std::string& command) {
    if (send(fd_.get(), command.data(), command.size(), MSG_NOSIGNAL) < 0)
        return failure(errno, fmt::format("{}: {}", path_, std::strerror(errno)));
    const auto text = receive();
    if (!text) return std::unexpected(text.error());
    auto reply = Json::parse(*text, nullptr, false);
    if (!reply.is_object() || reply.size() != 1)
        return failure(EPROTO, fmt::format("{}: {} was not answered in JSON", path_, command));
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

Result<std::string> TelemetryClient::receive() {
    std::string text(longest_reply, '\0');
    const auto n = recv(fd_.get(), text.data(), text.size(), 0);
    if (n == 0) return failure(ECONNRESET, path_ + ": the process closed the connection");
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return failure(ETIMEDOUT, path_ + ": no answer within 3 s; the process may be stopped");
    if (n < 0) return failure(errno, fmt::format("{}: {}", path_, std::strerror(errno)));
    text.resize(static_cast<std::size_t>(n));
    return text;
}

}  // namespace verbline::cli
