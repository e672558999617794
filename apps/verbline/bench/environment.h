// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK as a benchmark starts it: an instance of the process's own name, and the lcores that carry its load.

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/instance/eal.h"

namespace verbline::bench {

struct EnvironmentOptions {
    std::string_view command;            ///< for error messages: "bench packet"
    unsigned workers = 1;                ///< lcores, without EAL arguments of the user's
    std::size_t buffer_memory_mb = 0;    ///< of packet buffers
    std::vector<std::string> arguments;  ///< the user's; empty: none
    std::vector<unsigned> lcores;        ///< of the EAL's those that are wanted; empty: all
};

class Environment {
public:
    /// A usage failure: the user's EAL arguments and lcores do not go together.
    static std::expected<std::unique_ptr<Environment>, cli::Failure> start(const EnvironmentOptions& options);
    Environment() = default;
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    /// After every port is closed and every lcore has returned.
    ~Environment();

    const std::vector<unsigned>& lcores() const { return lcores_; }

private:
    std::string name_;
    std::unique_ptr<cli::Eal> eal_;
    std::vector<unsigned> lcores_;
};

}  // namespace verbline::bench
