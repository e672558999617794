// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The counters of a port in sysfs, kept up to date a few files at a time: a round of updates is spread over several
/// calls, so that none of them keeps the calling thread from its packets for long.
///
///     upkeep of the port, five times a second ── refresh ──> the next files whose values have changed
///     end of the process ── write_all ──> all of them
///
/// Threads: one at a time.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace verbline::verbs {

class CounterFiles {
public:
    using Counters = std::vector<std::pair<std::string, std::uint64_t>>;
    static constexpr std::size_t most_at_once = 16;

    /// `directory`: of the port. The files must exist; what cannot be written is left as it is.
    explicit CounterFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

    /// Writes at most `most_at_once` files. Both lists have the same names in the same order in each call.
    void refresh(const Counters& counters, const Counters& hw_counters) { write(counters, hw_counters, most_at_once); }
    void write_all(const Counters& counters, const Counters& hw_counters) { write(counters, hw_counters, SIZE_MAX); }

private:
    void write(const Counters& counters, const Counters& hw_counters, std::size_t most);
    bool write_file(const char* group, const std::string& name, std::uint64_t value) const;

    const std::filesystem::path directory_;
    std::vector<std::uint64_t> written_;  ///< of `counters`, then of `hw_counters`
    std::size_t next_ = 0;                ///< where the next round begins
};

}  // namespace verbline::verbs
