// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What one key grants, and the check of an access (IBTA volume 1, 10.6.3, 10.6.6, 10.6.7): a value and a pure
/// function.

#include <cstddef>
#include <cstdint>
#include <expected>

#include "datapath/memory/access.h"
#include "datapath/memory/fault.h"
#include "datapath/wire/types.h"

namespace verbline::memory {

constexpr PdId any_pd{0xffffffff};        ///< a type 2A window is tied to its queue pair alone
constexpr wire::Qpn any_qpn{0xffffffff};  ///< regions and type 1 windows are not tied to a queue pair
constexpr Access usable{1u << 31};        ///< set in every grant except that of an unbound window
constexpr Access by_local_key{1u << 30};  ///< set in a region's grant: a window's key is no L_Key

struct Grant {
    wire::RKey key{};
    Access rights = Access::none;
    PdId pd{};
    wire::Qpn qpn{};
    std::uint64_t base = 0;    ///< address of the memory in this process
    std::uint64_t iova = 0;    ///< the address that peers and work requests use for it
    std::uint64_t length = 0;  ///< iova + length fits 64 bits, and so does base + length

    /// Whether [address, address + size) lies inside. Compares differences, since sums could wrap.
    constexpr bool contains(std::uint64_t address, std::uint64_t size) const {
        const auto offset = address - iova;  // huge when address < iova
        return offset <= length && size <= length - offset;
    }
    constexpr std::uint64_t at(std::uint64_t address) const { return base + (address - iova); }

    std::expected<std::byte*, Fault> resolve(wire::RKey shown, PdId of, wire::Qpn by, std::uint64_t address,
                                             std::uint64_t size, Access needed) const noexcept {
        if (shown != key) return std::unexpected(Fault::unknown_key);
        if (!has(rights, usable)) return std::unexpected(Fault::not_bound);
        if (pd != of && pd != any_pd) return std::unexpected(Fault::wrong_pd);
        if (qpn != by && qpn != any_qpn) return std::unexpected(Fault::wrong_qp);
        const bool local = (needed & remote_rights) == Access::none;
        if (!has(rights, local ? needed | by_local_key : needed)) return std::unexpected(Fault::no_right);
        if (!contains(address, size)) return std::unexpected(Fault::out_of_range);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is an integer until it has been checked
        return reinterpret_cast<std::byte*>(at(address));
    }
};

}  // namespace verbline::memory
