// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Registered memory of a simulated program, every byte of which is accounted for.
///
///     │ guard │ block: room bytes │ guard │ block ... │ guard │      one region (or one of several)
///
/// Whatever no message may have written to holds `untouched`; who takes a block back or looks at the end sees it.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/rdma/device.h"
#include "datapath/transport/work.h"
#include "tests/sim/pattern.h"
#include "tests/sim/random.h"

namespace verbline::sim {

/// What a block is for; its region has the rights for that and no other.
enum class Use : std::uint8_t { source, sink, target, exported, atomic, window };

struct Block {
    Use use{};
    std::span<std::byte> bytes;  ///< all there is room for
    std::uint64_t address = 0;   ///< for peers and work requests
    wire::RKey key{};
};

class Arena {
public:
    Arena(rdma::Device& device, memory::PdId pd, Seed seed) : device_(device), pd_(pd), random_(seed) {}

    memory::PdId pd() const { return pd_; }
    /// A block of at least `size` untouched bytes.
    Block* take(Use use, std::uint32_t size);
    /// It may be given out again: nobody writes to it any more.
    void give_back(Block* block);
    /// Something was written outside of all blocks.
    bool guards_hold() const;

private:
    static constexpr std::size_t guard = 64;

    struct Region {
        std::vector<std::byte> memory;
        std::size_t used = guard;
        std::uint64_t iova = 0;
        std::optional<rdma::MemoryRegion> registered;
    };

    Region& region_for(Use use, std::size_t room);

    rdma::Device& device_;
    memory::PdId pd_;
    Random random_;
    std::map<Use, std::deque<Region>> regions_;
    std::map<std::pair<Use, std::size_t>, std::vector<Block*>> free_;  ///< by room
    std::deque<Block> blocks_;
};

/// Up to three blocks, one after the other: the segments of a request.
class Pieces {
public:
    /// In as many segments as asked for, which may be none for an empty message.
    Pieces(Arena& arena, Use use, std::uint32_t size, unsigned segments);
    Pieces() = default;

    std::span<const transport::Segment> segments() const { return std::span(segments_).first(count_); }
    void write(MessageId id);
    /// The first `size` bytes are the message's, the others untouched.
    bool hold(MessageId id, std::uint32_t size) const;
    /// Each byte is that of one of the messages, or untouched.
    bool hold_part_of(std::initializer_list<MessageId> ids) const;
    MessageId first_word() const;
    /// All bytes, one after the other.
    std::vector<std::byte> bytes() const;
    void give_back(Arena& arena);

private:
    std::array<Block*, 3> blocks_{};
    std::array<transport::Segment, 3> segments_{};
    unsigned count_ = 0;
};

}  // namespace verbline::sim
