// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Commands that change a running instance, on a socket of their own: the telemetry socket only tells.
///
///     client                                          control thread
///       {"command": "program_unload", "port": "lan"} ─>  root, or the instance's own user (SO_PEERCRED)? execute()
///       {"done": "..."}                             <──
///       {"error": "...", "code": 2}                 <──  and nothing has changed
///
/// Requests and answers are one packet each, and one line of text. Everything runs on the loop's thread. Connections
/// and requests are bounded; a client that does not read its answer is disconnected.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "control/loop/acceptor.h"
#include "control/loop/loop.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/socket_file.h"

namespace verbline::telemetry {

/// In the directory of the instance's telemetry socket.
inline constexpr std::string_view command_socket = "verbline_commands";

class CommandServer {
public:
    using Json = nlohmann::ordered_json;
    /// Carries out a request, which is an object, and returns what was done.
    using Execute = std::function<Result<std::string>(const Json& request)>;

    static constexpr std::size_t max_clients = 16, max_request = 64 * 1024;

    /// Creates `socket`, whose directory is there, for the effective user and root alone; removes it on destruction.
    static Result<std::unique_ptr<CommandServer>> open(control::Loop& loop, const std::filesystem::path& socket,
                                                       Execute execute);
    CommandServer(const CommandServer&) = delete;
    CommandServer& operator=(const CommandServer&) = delete;

private:
    struct Client {
        FileDescriptor fd;
        control::Watch watch;
    };

    CommandServer(control::Loop& loop, Execute execute);

    void accept(FileDescriptor fd);
    void read(std::uint64_t id);
    Json answer(std::string_view text) const;

    control::Loop& loop_;
    const Execute execute_;
    control::Acceptor acceptor_;
    SocketFile file_;
    std::map<std::uint64_t, Client> clients_;
    std::uint64_t last_client_ = 0;
};

}  // namespace verbline::telemetry
