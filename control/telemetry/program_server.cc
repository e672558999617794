// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/program_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "control/telemetry/command_prefix.h"
#include "control/telemetry/listen.h"
#include "pmd/runtime/runtime_directory.h"

namespace verbline::telemetry {
namespace {

constexpr std::size_t longest_command = 256;

bool send_to(int fd, const Json& message) {
    // A cut-off name of a program may end within a character.
    const auto text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

/// The name in front of the comma, and the number behind it; 0 without one.
std::pair<std::string_view, std::size_t> split(std::string_view command) {
    const auto comma = command.find(',');
    std::size_t first = 0;
    if (comma != std::string_view::npos) {
        const auto digits = command.substr(comma + 1);
        std::from_chars(digits.data(), digits.data() + digits.size(), first);
    }
    return {command.substr(0, comma), first};
}

}  // namespace

Result<std::unique_ptr<ProgramServer>> ProgramServer::open(control::Loop& loop, std::filesystem::path socket,
                                                           std::vector<Table> tables) {
    std::unique_ptr<ProgramServer> server(new ProgramServer(loop, std::move(socket), std::move(tables)));
    if (auto listening = server->listen(); !listening) return std::unexpected(listening.error());
    return server;
}

ProgramServer::ProgramServer(control::Loop& loop, std::filesystem::path socket, std::vector<Table> tables)
    : loop_(loop),
      socket_(std::move(socket)),
      tables_(std::move(tables)),
      acceptor_(
          loop, [this](FileDescriptor fd) { accept(std::move(fd)); },
          [this](int code) {
              fmt::print(stderr, "verbline: {}: `verbline show` has to wait: {}; raise the limit with `ulimit -n`\n",
                         socket_.string(), std::strerror(code));
          }) {}

Result<void> ProgramServer::listen() {
    if (auto made = pmd::make_runtime_directory(socket_.parent_path()); !made) return made;
    auto listening = listen_at(socket_, max_clients);
    if (!listening) return std::unexpected(listening.error());
    file_ = std::move(listening->file);
    return acceptor_.start(std::move(listening->fd));
}

void ProgramServer::accept(FileDescriptor fd) {
    if (clients_.size() >= max_clients) return;
    const Json greeting{{"version", "Verbline"}, {"pid", getpid()}, {"max_output_len", page_bytes}};
    if (!send_to(fd.get(), greeting)) return;
    const auto id = ++last_client_;
    auto watch = loop_.watch(fd.get(), [this, id](std::uint32_t) { read(id); });
    if (watch) clients_.try_emplace(id, Client{std::move(fd), std::move(*watch)});
}

void ProgramServer::read(std::uint64_t id) {
    auto& client = clients_.at(id);
    std::array<char, longest_command> buffer;
    const auto size = recv(client.fd.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const bool readable = size > 0 && static_cast<std::size_t>(size) <= buffer.size();
    if (!readable || !answer(client, {buffer.data(), static_cast<std::size_t>(size)})) clients_.erase(id);
}

bool ProgramServer::answer(Client& client, std::string_view command) {
    const auto [name, first] = split(command);
    auto reply = Json::object();
    auto& value = reply[std::string(name)];
    if (name == "/") {
        value = Json::array({"/"});
        for (const auto& table : tables_) value.push_back(std::string(command_prefix) + table.name);
    } else if (name.starts_with(command_prefix)) {
        value = page(client, name.substr(command_prefix.size()), first);
    }
    return send_to(client.fd.get(), reply);
}

/// Null: there is no such table.
Json ProgramServer::page(Client& client, std::string_view table, std::size_t first) {
    const auto found = std::ranges::find(tables_, table, &Table::name);
    if (found == tables_.end()) return nullptr;
    if (first == 0 || client.table != table) {
        client.table = table;
        client.rows = found->query();
    }
    if (!client.rows.is_array()) return client.rows;
    auto rows = Json::object();
    for (std::size_t bytes = 0; first < client.rows.size() && bytes < page_bytes / 2; ++first) {
        bytes += client.rows[first].dump(-1, ' ', false, Json::error_handler_t::replace).size();
        rows[std::to_string(first)] = client.rows[first];
    }
    return rows;
}

}  // namespace verbline::telemetry
