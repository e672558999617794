// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Serves the tables of a foreign program that uses our library without DPDK's telemetry, on a socket of our own, in
/// the protocol of DPDK's (telemetry v2), so that the same clients understand both.
///
///     client                                   control thread
///       connect ───────────────────────────────> {"version": ..., "pid": 4711, "max_output_len": 32768}
///       "/" ───────────────────────────────────> {"/": ["/verbline/cm", ...]}
///       "/verbline/cm,0" ──────────────────────> {"/verbline/cm": {"0": {...}, "1": {...}}}, the next page from ",2"
///
/// Everything runs on the loop's thread; queries may access all that thread owns. Connections, requests and unread
/// answers are bounded; a client that does not read its answer is disconnected.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/loop/acceptor.h"
#include "control/loop/loop.h"
#include "control/telemetry/server.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/socket_file.h"

namespace verbline::telemetry {

class ProgramServer {
public:
    static constexpr std::size_t max_clients = 16, page_bytes = 32 * 1024;

    /// Creates `socket` and its parent directories, and removes it on destruction. A stale socket of that name, left by
    /// a killed process with the same PID, is replaced.
    static Result<std::unique_ptr<ProgramServer>> open(control::Loop& loop, std::filesystem::path socket,
                                                       std::vector<Table> tables);
    ProgramServer(const ProgramServer&) = delete;
    ProgramServer& operator=(const ProgramServer&) = delete;

private:
    struct Client {
        FileDescriptor fd;
        control::Watch watch;
        std::string table{};  ///< whose rows are kept for further pages
        Json rows{};
    };

    ProgramServer(control::Loop& loop, std::filesystem::path socket, std::vector<Table> tables);

    Result<void> listen();
    void accept(FileDescriptor fd);
    void read(std::uint64_t id);
    bool answer(Client& client, std::string_view command);
    Json page(Client& client, std::string_view table, std::size_t first);

    control::Loop& loop_;
    const std::filesystem::path socket_;
    const std::vector<Table> tables_;
    control::Acceptor acceptor_;
    SocketFile file_;  ///< path of the listening socket
    std::map<std::uint64_t, Client> clients_;
    std::uint64_t last_client_ = 0;
};

}  // namespace verbline::telemetry
