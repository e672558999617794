// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/environment.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/instance/instance.h"

namespace verbline::bench {
namespace {

constexpr std::size_t dpdk_memory_mb = 128;  ///< beside packet buffers

}  // namespace

std::expected<std::unique_ptr<Environment>, cli::Failure> Environment::start(const EnvironmentOptions& options) {
    auto made = std::make_unique<Environment>();
    // A name of this process's own: several run beside each other.
    made->name_ = fmt::format("bench-{}", getpid());
    auto eal = cli::Eal::start({.name = made->name_,
                                .workers = options.workers,
                                .memory_mb = dpdk_memory_mb + options.buffer_memory_mb,
                                .arguments = options.arguments});
    if (!eal) return cli::run_failure(fmt::format("{}: {}", options.command, eal.error().what));
    made->eal_ = std::make_unique<cli::Eal>(std::move(*eal));
    auto lcores = made->eal_->packet_lcores();
    if (!lcores) return cli::usage_failure(fmt::format("{}: {}", options.command, lcores.error().what));
    for (const auto lcore : options.lcores) {
        if (std::ranges::find(*lcores, lcore) == lcores->end())
            return cli::usage_failure(
                fmt::format("{}: --lcores: {} is none of the EAL's lcores for packets, which are {}", options.command,
                            lcore, fmt::join(*lcores, ",")));
    }
    made->lcores_ = options.lcores.empty() ? *lcores : options.lcores;
    return made;
}

/// The directory of the instance ends with it.
Environment::~Environment() {
    eal_.reset();
    std::error_code ignored;
    if (!name_.empty()) std::filesystem::remove_all(cli::instance_directory(name_), ignored);
}

}  // namespace verbline::bench
