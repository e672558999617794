// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A command as a program writes it to the rdma_cm device: a header, one structure of rdma/rdma_user_cm.h, and in it
/// the address of the response buffer.
///
///     write(fd) ─> │ cmd 4 │ in 2 │ out 2 │ structure, `in` bytes │        answer, at most `out` bytes ─> response
///
/// Host byte order, unless a structure states otherwise. Lengths and addresses are not trusted.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <netinet/in.h>  // before linux/in6.h, which then leaves in6_addr to it: one definition

#include <rdma/rdma_user_cm.h>

#include "apps/libibverbs/ucma/user_memory.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

class Command {
public:
    /// Copies a command of `length` bytes from `address`. EINVAL: shorter than its header states; EFAULT: `address` is
    /// not readable.
    static Result<Command> read(std::uint64_t address, std::size_t length);

    std::uint32_t number() const { return header_.cmd; }

    /// The command's structure. Structures have grown at their end: bytes that an older program does not send are zero,
    /// excess bytes of a newer one are ignored. EINVAL: fewer than `least` bytes.
    template <class Structure>
    Result<Structure> input(std::size_t least = sizeof(Structure)) const {
        static_assert(sizeof(Structure) <= largest);
        if (header_.in < least) return failure(EINVAL, "too short");
        Structure structure{};
        std::memcpy(&structure, input_.data(), std::min<std::size_t>(header_.in, sizeof structure));
        return structure;
    }

    /// ENOSPC unless the response buffer holds `least` bytes. Check before executing the command.
    Result<void> require_room(std::size_t least) const {
        if (header_.out < least) return failure(ENOSPC, "no room for the answer");
        return {};
    }
    std::size_t room() const { return header_.out; }

    /// Writes as much of the answer as the response buffer holds. EFAULT: `address` is not writable.
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
