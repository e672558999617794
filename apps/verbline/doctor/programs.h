// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Asks external programs for what the kernel shows by netlink alone. Tests answer with recorded outputs.

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "pmd/base/error.h"

namespace verbline::doctor {

class Programs {
public:
    Programs() = default;
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;
    virtual ~Programs() = default;

    /// What the program prints. ENOENT: it is not installed; ETIMEDOUT: it did not end in time; EIO: it failed, printed
    /// too much, or was not asked.
    virtual Result<std::string> output(std::span<const std::string> words) = 0;
};

/// Those of this machine: without input, their errors discarded.
class InstalledPrograms final : public Programs {
public:
    static constexpr std::chrono::milliseconds patience{2000};  ///< each answers within a few milliseconds
    static constexpr std::size_t max_output = 1024 * 1024;

    explicit InstalledPrograms(std::chrono::milliseconds time_limit = patience) : time_limit_(time_limit) {}
    Result<std::string> output(std::span<const std::string> words) override;

private:
    std::chrono::milliseconds time_limit_;
};

/// For the tree of another machine, of which the programs of this one know nothing.
class NoPrograms final : public Programs {
public:
    Result<std::string> output(std::span<const std::string> words) override;
};

}  // namespace verbline::doctor
