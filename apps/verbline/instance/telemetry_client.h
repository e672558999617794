// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A client of the DPDK telemetry socket of another process, which is not trusted: waits are limited, and answers may
/// be missing or malformed.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "apps/verbline/instance/instance_socket.h"
#include "apps/verbline/output/table.h"
#include "pmd/base/error.h"
#include "pmd/runtime/trusted_path.h"

namespace verbline::cli {

class TelemetryClient {
public:
    /// ECONNREFUSED if no process serves the socket, EPERM if it is not root's or ours (pmd/runtime/trusted_path.h),
    /// ETIMEDOUT if the server does not send its greeting.
    static Result<TelemetryClient> connect(const std::filesystem::path& socket, const pmd::Trust& trust = {});

    pid_t pid() const { return pid_; }

    /// The value of one command, e.g. "/eal/params".
    Result<Json> ask(const std::string& command);
    /// The names of the tables that the process serves.
    Result<std::vector<std::string>> tables();
    /// A whole table of the process: `/verbline/<name>`, all its pages. An array of rows, or a flat object.
    Result<Json> table(std::string_view name);

private:
    explicit TelemetryClient(InstanceSocket socket) : socket_(std::move(socket)) {}

    InstanceSocket socket_;
    pid_t pid_ = 0;
};

}  // namespace verbline::cli
