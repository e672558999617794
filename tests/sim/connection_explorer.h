// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Connections as values: copied, which they are nowhere else, and told apart.

#include <cstddef>
#include <cstdint>

#include "control/cm/connection.h"

namespace verbline::cm {

/// A step of a hash that is the same everywhere.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15;
    return hash ^ hash >> 29;
}

struct MadHash {
    std::size_t operator()(const mad::MadBuffer& mad) const;
};

class ConnectionExplorer {
public:
    static void copy(const Connection& from, Connection& to);
    /// Equal for states with the same future, whatever the time.
    static std::uint64_t digest(const Connection& connection);
};

}  // namespace verbline::cm
