// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The last events of a poll thread, in memory that outlives it: a ring of fixed size, whose writer never waits. It
/// lies in a mapped file (trace_file.h), which is there after a fault of any kind.
///
///     shard's thread ── Trace::record ──> TraceRing ──> file ──> read_trace: `verbline trace`
///
/// One thread records; any process that has the file may read meanwhile.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <rte_cycles.h>

#include "pmd/trace/trace_event.h"

namespace verbline::pmd {

/// As in the file; of the machine that wrote it.
struct TraceEntry {
    std::uint64_t cycles = 0;  ///< of the time stamp counter
    TraceEvent event = TraceEvent::none;
    std::uint16_t port = 0;  ///< its number with the shard's owner; no_port: the event is of none
    std::uint32_t value = 0;

    bool operator==(const TraceEntry&) const = default;
};
static_assert(sizeof(TraceEntry) == 16 && std::is_trivially_copyable_v<TraceEntry>);

class TraceRing {
public:
    static constexpr std::size_t capacity = 65'536;

    void record(const TraceEntry& entry) noexcept {
        entries_[recorded_ % capacity] = entry;
        // Only then: a reader takes whole entries alone.
        std::atomic_ref(recorded_).store(recorded_ + 1, std::memory_order_release);
    }

    // Of the writer's thread, or of a copy of the ring.

    /// How many so far: the last `capacity` of them are in the ring.
    std::uint64_t recorded() const noexcept { return recorded_; }
    const TraceEntry& operator[](std::uint64_t number) const noexcept { return entries_[number % capacity]; }

private:
    alignas(64) std::uint64_t recorded_ = 0;
    alignas(64) std::array<TraceEntry, capacity> entries_;
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "it is shared by processes");

/// The writer's end. Without a ring it records nothing.
class Trace {
public:
    static constexpr std::uint16_t no_port = 0xffff;

    Trace() = default;
    explicit Trace(TraceRing* ring) : ring_(ring) {}

    void record(TraceEvent event, std::uint16_t port = no_port, std::size_t value = 0) noexcept {
        if (ring_ != nullptr) ring_->record({rte_rdtsc(), event, port, static_cast<std::uint32_t>(value)});
    }

private:
    TraceRing* ring_ = nullptr;
};

}  // namespace verbline::pmd
