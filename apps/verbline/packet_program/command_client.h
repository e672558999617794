// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A client of an instance's command socket (control/telemetry/command_server.h).

#include <string>
#include <utility>

#include "apps/verbline/instance/instance.h"
#include "apps/verbline/instance/instance_socket.h"
#include "apps/verbline/output/table.h"
#include "pmd/base/error.h"

namespace verbline::cli {

class CommandClient {
public:
    /// EACCES: only root and the instance's own user may give commands.
    static Result<CommandClient> connect(const Instance& instance);

    /// Returns what was done. An error is the instance's: then nothing was.
    Result<std::string> command(const Json& request);

private:
    explicit CommandClient(InstanceSocket socket) : socket_(std::move(socket)) {}

    InstanceSocket socket_;
};

}  // namespace verbline::cli
