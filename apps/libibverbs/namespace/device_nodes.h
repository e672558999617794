// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// /dev/infiniband/uverbsN, umadN and rdma_cm inside a mount namespace of our own.

#include <cstddef>
#include <filesystem>

#include "pmd/base/error.h"

namespace verbline::verbs {

/// Creates uverbs0 to uverbs(count - 1), umad0 to umad(count - 1), and rdma_cm. `scaffold` is a tmpfs of ours, which
/// stays mounted below them.
Result<void> build_dev(const std::filesystem::path& scaffold, std::size_t count);

}  // namespace verbline::verbs
