// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A bounded lock-free single-producer, single-consumer queue of values: rte_ring with elements instead of pointers.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "pmd/base/error.h"

namespace verbline::router {

template <class T>
    requires std::is_trivially_copyable_v<T>
class Ring {
public:
    /// `name` must be unique in the process; `capacity` a power of two, one less than which is usable. Lies on NUMA
    /// socket `socket` if there is memory, else on any.
    static Result<Ring> create(const std::string& name, unsigned capacity, int socket = SOCKET_ID_ANY) {
        constexpr unsigned flags = RING_F_SP_ENQ | RING_F_SC_DEQ;
        auto* ring = rte_ring_create_elem(name.c_str(), sizeof(Cell), capacity, socket, flags);
        if (ring == nullptr && socket != SOCKET_ID_ANY) {
            ring = rte_ring_create_elem(name.c_str(), sizeof(Cell), capacity, SOCKET_ID_ANY, flags);
        }
        if (ring == nullptr) return failure(rte_errno, "cannot create ring " + name + ": " + rte_strerror(rte_errno));
        return Ring(ring);
    }

    /// Producer thread. False if the ring is full.
    bool push(const T& value) noexcept {
        Cell cell{value};
        return rte_ring_sp_enqueue_elem(ring_.get(), &cell, sizeof(Cell)) == 0;
    }
    /// Whether a quarter of it or more is in use. Either thread.
    bool quarter_full() const noexcept { return rte_ring_count(ring_.get()) >= rte_ring_get_capacity(ring_.get()) / 4; }
    /// Consumer thread. None if the ring is empty.
    std::optional<T> pop() noexcept {
        Cell cell;
        if (rte_ring_sc_dequeue_elem(ring_.get(), &cell, sizeof(Cell)) != 0) return std::nullopt;
        return cell.value;
    }

private:
    struct Free {
        void operator()(rte_ring* ring) const { rte_ring_free(ring); }
    };
    union alignas(16)
        Cell {  // a union, so that it need not be constructed before it is filled; rte_ring copies 16 bytes at a time
        Cell() {}
        explicit Cell(const T& v) : value(v) {}
        T value;
    };

    explicit Ring(rte_ring* ring) : ring_(ring) {}

    std::unique_ptr<rte_ring, Free> ring_;
};

}  // namespace verbline::router
