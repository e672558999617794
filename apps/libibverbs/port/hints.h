// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Prints why a call has failed, of which the program learns an errno value alone: where the variable VERBLINE_HINTS is
/// in the environment and not empty, one line on standard error for each reason, once.
///
/// Threads: any. errno is left as it is.

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include "pmd/base/error.h"

namespace verbline::verbs {

class Hints {
public:
    static constexpr std::size_t most = 100;  ///< reasons; further ones are not printed

    explicit Hints(bool wanted) : wanted_(wanted) {}
    Hints(const Hints&) = delete;
    Hints& operator=(const Hints&) = delete;

    /// Does nothing for EAGAIN, or while another thread is in it.
    void give(const Error& error) noexcept;

private:
    const bool wanted_;
    std::mutex mutex_;
    std::set<std::string> given_;
};

/// Of this process.
void hint(const Error& error) noexcept;

}  // namespace verbline::verbs
