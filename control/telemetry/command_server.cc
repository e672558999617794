// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/command_server.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "control/telemetry/listen.h"

namespace verbline::telemetry {
namespace {

/// The file's mode says the same; but that of a socket in a directory of ours might be changed by mistake.
bool may_command(int fd) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

}  // namespace

Result<std::unique_ptr<CommandServer>> CommandServer::open(control::Loop& loop, const std::filesystem::path& socket,
                                                           Execute execute) {
    std::unique_ptr<CommandServer> server(new CommandServer(loop, std::move(execute)));
    auto listening = listen_at(socket, max_clients, S_IRUSR | S_IWUSR);
    if (!listening) return std::unexpected(listening.error());
    server->file_ = std::move(listening->file);
    if (auto started = server->acceptor_.start(std::move(listening->fd)); !started)
        return std::unexpected(started.error());
    return server;
}

CommandServer::CommandServer(control::Loop& loop, Execute execute)
    : loop_(loop),
      execute_(std::move(execute)),
      acceptor_(
          loop, [this](FileDescriptor fd) { accept(std::move(fd)); },
          [](int code) {
              fmt::print(stderr, "verbline: commands have to wait: {}; raise the limit with `ulimit -n`\n",
                         std::strerror(code));
          }) {}

void CommandServer::accept(FileDescriptor fd) {
    if (clients_.size() >= max_clients || !may_command(fd.get())) return;
    const auto id = ++last_client_;
    auto watch = loop_.watch(fd.get(), [this, id](std::uint32_t) { read(id); });
    if (watch) clients_.try_emplace(id, Client{std::move(fd), std::move(*watch)});
}

void CommandServer::read(std::uint64_t id) {
    auto& client = clients_.at(id);
    std::vector<char> buffer(max_request);
    const auto size = recv(client.fd.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0 || static_cast<std::size_t>(size) > buffer.size()) {
        clients_.erase(id);
        return;
    }
    const auto reply =
        answer({buffer.data(), static_cast<std::size_t>(size)}).dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto sent = ::send(client.fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(reply.size())) clients_.erase(id);
}

CommandServer::Json CommandServer::answer(std::string_view text) const {
    const auto request = Json::parse(text, nullptr, false);
    const auto done = request.is_object() ? execute_(request) : failure(EPROTO, "a command is a JSON object");
    if (done) return {{"done", *done}};
    return {{"error", done.error().what}, {"code", done.error().code}};
}

}  // namespace verbline::telemetry
