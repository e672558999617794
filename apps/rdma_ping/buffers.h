// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The registered memory of one end: a part to send, a part to receive, and a part that the peer may write and read.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "apps/rdma_ping/options.h"

namespace verbline::rdma_ping {

enum class Part : std::size_t { outgoing, incoming, peers };

class Buffers {
public:
    std::span<std::byte> all() { return bytes_; }
    std::byte* data(Part part) { return bytes_.data() + static_cast<std::size_t>(part) * max_size; }
    std::uint64_t address(Part part) { return reinterpret_cast<std::uint64_t>(data(part)); }

    /// Fills the outgoing part with bytes that differ by ping and by offset.
    void fill(std::uint32_t ping, std::uint32_t size) {
        for (std::uint32_t i = 0; i < size; ++i)
            data(Part::outgoing)[i] = static_cast<std::byte>((ping * 977 + i + 1) * 2654435761u >> 24);
    }
    void echo(std::uint32_t size) { std::memcpy(data(Part::outgoing), data(Part::incoming), size); }
    void must_agree(std::uint32_t size, const char* complaint) {
        if (std::memcmp(data(Part::outgoing), data(Part::incoming), size) != 0) throw std::runtime_error(complaint);
    }

private:
    std::vector<std::byte> bytes_ = std::vector<std::byte>(3 * std::size_t{max_size});
};

}  // namespace verbline::rdma_ping
