// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Our libibverbs.so.1 as a program uses it: opened by its file, called by its public names. The libibverbs that this
/// program itself links may be the distribution's (DPDK's drivers for real adapters need it), so nothing here is called
/// directly.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "apps/verbline/output/table.h"
#include "pmd/base/error.h"

struct ibv_context;
struct ibv_device;

namespace verbline::cli {

class VerbsLibrary {
public:
    /// The library reads VERBLINE_* when the program lists devices.
    static Result<VerbsLibrary> open(const std::filesystem::path& file);

    /// Opens every device: its row (device_view.h), its "ports", each with its "gids", and "link", which describes the
    /// link behind it (verbline_describe).
    Result<Json> devices() const;

private:
    struct Calls;
    static constexpr std::size_t most_gids = 1024;

    explicit VerbsLibrary(std::shared_ptr<const Calls> calls) : calls_(std::move(calls)) {}

    Result<Json> device(ibv_device* device) const;
    Result<Json> ports(ibv_context* context, std::string_view name, unsigned count) const;
    Json link(ibv_context* context) const;

    std::shared_ptr<const Calls> calls_;
};

}  // namespace verbline::cli
