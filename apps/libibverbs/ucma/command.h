// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a program writes to the rdma_cm device: a header, one structure of rdma/rdma_user_cm.h, and in it the address
/// where the answer goes.
///
///     write(fd) ─> │ cmd 4 │ in 2 │ out 2 │ structure, `in` bytes │        answer, at most `out` bytes ─> response
///
/// All in host byte order but where the structures say otherwise. Nothing is believed: neither lengths nor addresses.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <rdma/rdma_user_cm.h>

#include "apps/libibverbs/ucma/user_memory.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

class Command {
public:
    /// `length` bytes were written at `address`. EINVAL: less than the header says; EFAULT.
    static Result<Command> read(std::uint64_t address, std::size_t length);

    std::uint32_t number() const { return header_.cmd; }

    /// The command's structure. Structures have grown at their end: what an older program does not send is zero, what a
    /// newer one sends more is left. EINVAL: not even `least` bytes.
    template <class Structure>
    Result<Structure> input(std::size_t least = sizeof(Structure)) const {
        static_assert(sizeof(Structure) <= largest);
        if (header_.in < least) return failure(EINVAL, "too short");
        Structure structure{};
        std::memcpy(&structure, input_.data(), std::min<std::size_t>(header_.in, sizeof structure));
        return structure;
    }

    /// Whether the program has room for the first `least` bytes of an answer; ENOSPC. Ask before anything is done.
    Result<void> require_room(std::size_t least) const {
        if (header_.out < least) return failure(ENOSPC, "no room for the answer");
        return {};
    }
    std::size_t room() const { return header_.out; }

    /// As much of the answer as there is room for. EFAULT.
    template <class Structure>
    Result<void> respond(std::uint64_t address, const Structure& answer) const {
        const auto bytes = std::as_bytes(std::span(&answer, 1));
        return write_user(address, bytes.first(std::min(bytes.size(), room())));
    }

private:
    static constexpr std::size_t largest = 512;

    rdma_ucm_cmd_hdr header_{};
    std::array<std::byte, largest> input_{};
};

}  // namespace verbline::verbs
