// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The traces of an instance's shards (pmd/trace): files in its directory, by which `verbline trace` finds them.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pmd/trace/trace_file.h"

namespace verbline::cli {

class ShardTraces {
public:
    /// A trace for the shard of each lcore. Where no file can be made, `warn` is called with one line, and nothing of
    /// that shard is recorded. `ports`: their names, by the numbers in the shards' events.
    ShardTraces(const std::filesystem::path& directory, const std::vector<unsigned>& lcores,
                const std::vector<std::string>& ports, const std::function<void(const std::string&)>& warn);

    /// By shard; null: not traced.
    const std::vector<pmd::TraceRing*>& rings() const { return rings_; }
    /// Call every second or so.
    void note_time() noexcept;

private:
    std::vector<pmd::TraceFile> files_;
    std::vector<pmd::TraceRing*> rings_;
};

}  // namespace verbline::cli
