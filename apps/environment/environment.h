// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK for a program with one thread.

#include <string>
#include <utility>
#include <vector>

#include "pmd/base/error.h"

namespace verbline {

/// Starts DPDK with `arguments` or, if there are none, so that it runs anywhere: ordinary pages, no PCI devices, no
/// files. The destructor ends DPDK; destroy this object last.
class Environment {
public:
    static Result<Environment> start(const std::string& program, std::vector<std::string> arguments);
    Environment(Environment&& other) noexcept : running_(std::exchange(other.running_, false)) {}
    Environment& operator=(Environment&&) = delete;
    ~Environment();

private:
    Environment() = default;
    bool running_ = true;
};

}  // namespace verbline
