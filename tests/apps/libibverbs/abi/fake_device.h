// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What apps/libibverbs/abi asks of the device: a GID table, address handles, and neighbours.

#include <cerrno>
#include <cstdint>
#include <map>

#include <infiniband/verbs.h>

namespace verbline::verbs::test {

/// An open device. Its calls are those of the verbs on `context`.
struct FakeDevice {
    ibv_context context{};  ///< first: calls find the device behind it
    std::map<std::uint32_t, ibv_gid_entry> gids{};
    std::uint32_t table_size = 0;
    ibv_ah_attr made{};  ///< the last address handle's
    ibv_ah handle{};

    static FakeDevice& of(ibv_context* context) { return *reinterpret_cast<FakeDevice*>(context); }
};

}  // namespace verbline::verbs::test
