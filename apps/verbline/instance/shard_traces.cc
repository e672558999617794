// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/shard_traces.h"

#include <utility>

#include <rte_cycles.h>

#include <fmt/format.h>

namespace verbline::cli {

ShardTraces::ShardTraces(const std::filesystem::path& directory, const std::vector<unsigned>& lcores,
                         const std::vector<std::string>& ports, const std::function<void(const std::string&)>& warn) {
    files_.reserve(lcores.size());
    for (const auto lcore : lcores) {
        const auto shard = static_cast<unsigned>(rings_.size());
        auto file =
            pmd::TraceFile::create(directory, {.shard = shard, .lcore = lcore, .ports = ports}, rte_get_tsc_hz());
        if (!file) warn(fmt::format("{}; shard {} is not traced", file.error().what, shard));
        rings_.push_back(file ? &files_.emplace_back(std::move(*file)).ring() : nullptr);
    }
}

void ShardTraces::note_time() noexcept {
    for (auto& file : files_) file.note_time();
}

}  // namespace verbline::cli
