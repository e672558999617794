// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/packet_program/command_client.h"

#include <cerrno>

#include <fmt/format.h>

#include "control/telemetry/command_server.h"

namespace verbline::cli {

Result<CommandClient> CommandClient::connect(const Instance& instance) {
    auto socket = InstanceSocket::connect(instance.socket.parent_path() / telemetry::command_socket, instance.trust);
    if (socket) return CommandClient(std::move(*socket));
    const auto code = socket.error().code;
    if (code == EACCES)
        return failure(code, fmt::format("{}: only root and the user it runs as may change it", instance.name));
    if (code == ENOENT)
        return failure(code, fmt::format("{} takes no commands; a gateway or host does", instance.name));
    return std::unexpected(socket.error());
}

Result<std::string> CommandClient::command(const Json& request) {
    if (auto sent = socket_.send(request.dump(-1, ' ', false, Json::error_handler_t::replace)); !sent)
        return std::unexpected(sent.error());
    const auto text = socket_.receive();
    if (!text) return std::unexpected(text.error());
    const auto answer = Json::parse(*text, nullptr, false);
    const auto has = [&](const char* key) {
        return answer.is_object() && answer.contains(key) && answer[key].is_string();
    };
    if (has("done")) return answer["done"].get<std::string>();
    if (!has("error")) return failure(EPROTO, fmt::format("{}: no answer to a command", socket_.path()));
    const bool coded = answer.contains("code") && answer["code"].is_number_integer();
    return failure(coded ? answer["code"].get<int>() : EIO, answer["error"].get<std::string>());
}

}  // namespace verbline::cli
