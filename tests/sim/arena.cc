// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/arena.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace verbline::sim {
namespace {

using memory::Access;

constexpr std::size_t smallest = 64, region_size = 1 << 16;

Access rights_for(Use use) {
    switch (use) {
        case Use::source: return Access::none;
        case Use::sink: return Access::local_write;
        case Use::target:
            return Access::local_write | Access::remote_write | Access::remote_read | Access::flush_global;
        case Use::exported: return Access::remote_read;
        case Use::atomic: return Access::local_write | Access::remote_atomic;
        case Use::window: return Access::local_write | Access::mw_bind;
    }
    return Access::none;
}

}  // namespace

Arena::Region& Arena::region_for(Use use, std::size_t room) {
    auto& regions = regions_[use];
    if (!regions.empty() && regions.back().used + room + guard <= regions.back().memory.size()) return regions.back();
    auto& region = regions.emplace_back();
    region.memory.assign(std::max(region_size, room + 2 * guard), untouched);
    // Addresses as they are, from zero, or of another space: keys resolve all of them.
    auto rights = rights_for(use);
    const auto own = reinterpret_cast<std::uint64_t>(region.memory.data());
    switch (random_.below(3)) {
        case 0: region.iova = own; break;
        case 1: region.iova = 0, rights = rights | Access::zero_based; break;
        default: region.iova = (random_.next() >> 16) & ~std::uint64_t{4095};
    }
    auto registered = device_.register_memory(pd_, region.memory, region.iova, rights);
    if (!registered) throw std::runtime_error(registered.error().what);
    region.registered.emplace(std::move(*registered));
    return region;
}

Block* Arena::take(Use use, std::uint32_t size) {
    const auto room = std::max<std::size_t>(smallest, std::bit_ceil(size));
    auto& free = free_[{use, room}];
    if (!free.empty()) {
        auto* const block = free.back();
        free.pop_back();
        return block;
    }
    auto& region = region_for(use, room);
    auto& block = blocks_.emplace_back(Block{.use = use,
                                             .bytes = std::span(region.memory).subspan(region.used, room),
                                             .address = region.iova + region.used,
                                             .key = region.registered->rkey()});
    region.used += room + guard;
    return &block;
}

void Arena::give_back(Block* block) {
    std::ranges::fill(block->bytes, untouched);
    free_[{block->use, block->bytes.size()}].push_back(block);
}

bool Arena::guards_hold() const {
    std::map<const std::byte*, std::size_t> blocks;
    for (const auto& block : blocks_) blocks[block.bytes.data()] = block.bytes.size();
    for (const auto& [use, regions] : regions_) {
        for (const auto& region : regions) {
            const auto* at = region.memory.data();
            const auto* const end = at + region.memory.size();
            for (auto next = blocks.lower_bound(at); next != blocks.end() && next->first < end; ++next) {
                if (!is_untouched({at, next->first})) return false;
                at = next->first + next->second;
            }
            if (!is_untouched({at, end})) return false;
        }
    }
    return true;
}

Pieces::Pieces(Arena& arena, Use use, std::uint32_t size, unsigned segments) : count_(std::min(segments, 3u)) {
    for (unsigned i = 0; i < count_; ++i) {
        const auto rest = size - size / count_ * i;
        const auto length = i + 1 == count_ ? rest : size / count_;
        blocks_[i] = arena.take(use, length);
        segments_[i] = {blocks_[i]->address, length, blocks_[i]->key};
    }
}

std::vector<std::byte> Pieces::bytes() const {
    std::vector<std::byte> all;
    for (unsigned i = 0; i < count_; ++i) {
        const auto piece = blocks_[i]->bytes.first(segments_[i].length);
        all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
}

void Pieces::write(MessageId id) {
    std::uint32_t size = 0;
    for (const auto& segment : segments()) size += segment.length;
    const auto whole = pattern(id, size);
    auto from = whole.begin();
    for (unsigned i = 0; i < count_; ++i) {
        std::copy_n(from, segments_[i].length, blocks_[i]->bytes.begin());
        from += segments_[i].length;
    }
}

bool Pieces::hold(MessageId id, std::uint32_t size) const {
    const auto all = bytes();
    if (size > all.size() || !holds(std::span(all).first(size), id) || !is_untouched(std::span(all).subspan(size))) {
        return false;
    }
    for (unsigned i = 0; i < count_; ++i) {
        if (!is_untouched(blocks_[i]->bytes.subspan(segments_[i].length))) return false;
    }
    return true;
}

bool Pieces::hold_part_of(std::initializer_list<MessageId> ids) const {
    std::vector<MessageId> all(ids);
    all.push_back(0);
    return mixes(bytes(), all);
}

MessageId Pieces::first_word() const {
    MessageId id = 0;
    const auto all = bytes();
    if (all.size() >= sizeof(id)) std::memcpy(&id, all.data(), sizeof(id));
    return id;
}

void Pieces::give_back(Arena& arena) {
    for (unsigned i = 0; i < count_; ++i) arena.give_back(blocks_[i]);
    count_ = 0;
}

}  // namespace verbline::sim
