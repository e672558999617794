// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A set of prefixes for programs: the value of the longest one that holds an address.
///
/// The address space is cut where prefixes begin and end, and each piece has the value of the longest prefix over it.
/// The part of it that has cuts is divided evenly into about as many ranges as there are pieces; a lookup is a binary
/// search among the pieces of one range, of one or two steps unless prefixes crowd together. A table is made anew for
/// each change of the set, so that it is never changed under its readers. That takes a few kilobytes, where an rte_fib
/// as the routes have it (datapath/forward/fib.h) would reserve 32 MB for each of two tables, port by port, and its
/// changes wait for readers.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::program {

using PrefixValue = std::uint32_t;  ///< 0: in no prefix

/// An address as a number: larger is behind.
template <class Address>
struct PrefixKey;
template <>
struct PrefixKey<wire::Ipv4Address> {
    using Key = std::uint32_t;
    static constexpr Key of(wire::Ipv4Address address) { return static_cast<std::uint32_t>(address); }
    static constexpr std::uint64_t high_half(Key key) { return key; }  ///< or all of it: what ranges are made of
    static constexpr Key last_of(const wire::Ipv4Prefix& prefix) {
        return static_cast<std::uint32_t>(prefix.broadcast());
    }
    /// Behind `key`; 0 behind the last.
    static constexpr Key next(Key key) { return key + 1; }
};
template <>
struct PrefixKey<wire::Ipv6Address> {
    using Key = std::array<std::uint64_t, 2>;  ///< the high half first
    static constexpr Key of(const wire::Ipv6Address& address) {
        return {wire::load64(address.bytes, 0), wire::load64(address.bytes, 8)};
    }
    static constexpr std::uint64_t high_half(const Key& key) { return key[0]; }
    static constexpr Key last_of(const wire::Ipv6Prefix& prefix) {
        auto last = of(prefix.network());
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned fixed = prefix.length > 64 * half ? prefix.length - 64u * half : 0;
            if (fixed < 64) last[half] |= ~std::uint64_t{0} >> fixed;
        }
        return last;
    }
    static constexpr Key next(Key key) {
        if (++key[1] == 0) ++key[0];
        return key;
    }
};

template <class Address>
class PrefixTable {
public:
    using Keys = PrefixKey<Address>;
    using Key = typename Keys::Key;
    using Prefixes = std::map<wire::PrefixOf<Address>, PrefixValue>;

    PrefixTable() : PrefixTable(Prefixes()) {}
    /// Bits behind the prefixes are zero.
    explicit PrefixTable(const Prefixes& prefixes) {
        cut(Key{}, 0);
        std::vector<Open> open;  // prefixes around the present place, the longest last
        const auto end_before = [&](const Key* start) {
            while (!open.empty() && (start == nullptr || open.back().last < *start)) {
                const auto next = Keys::next(open.back().last);
                open.pop_back();
                if (next != Key{}) cut(next, open.empty() ? 0 : open.back().value);
            }
        };
        for (const auto& [prefix, value] : prefixes) {  // by address, and shorter ones in front of longer ones
            const auto start = Keys::of(prefix.address);
            end_before(&start);
            open.push_back({Keys::last_of(prefix), value});
            cut(start, value);
        }
        end_before(nullptr);
        divide();
    }

    /// 0 if no prefix holds the address.
    PrefixValue lookup(const Key& address) const noexcept {
        const auto high = Keys::high_half(address);
        if (high < first_cut_) return values_.front();
        const auto range = std::min<std::uint64_t>((high - first_cut_) >> shift_, ranges_.size() - 2);
        const Key* piece = &starts_[ranges_[range]];
        for (std::size_t left = ranges_[range + 1] - ranges_[range] + 1; left > 1;) {
            const auto half = left / 2;
            piece += piece[half] <= address ? half : 0;
            left -= half;
        }
        return values_[static_cast<std::size_t>(piece - starts_.data())];
    }
    PrefixValue lookup(const Address& address) const noexcept { return lookup(Keys::of(address)); }

private:
    struct Open {
        Key last;
        PrefixValue value;
    };

    /// From `start` on, which is not before any other, addresses have this value.
    void cut(const Key& start, PrefixValue value) {
        if (!starts_.empty() && starts_.back() == start) {
            values_.back() = value;
        } else {
            starts_.push_back(start);
            values_.push_back(value);
        }
    }

    void divide() {
        const auto cuts = std::span(starts_).subspan(1);
        first_cut_ = cuts.empty() ? 0 : Keys::high_half(cuts.front());
        const auto last = cuts.empty() ? 0 : Keys::high_half(cuts.back()) - first_cut_;
        shift_ = std::max(static_cast<int>(std::bit_width(last)) - static_cast<int>(std::bit_width(starts_.size())), 0);
        std::size_t piece = 0;
        for (std::uint64_t range = 0; range <= last >> shift_; ++range) {
            const auto begin = first_cut_ + (range << shift_);
            while (piece + 1 < starts_.size() && Keys::high_half(starts_[piece + 1]) < begin) ++piece;
            ranges_.push_back(static_cast<std::uint32_t>(piece));
        }
        ranges_.push_back(static_cast<std::uint32_t>(starts_.size() - 1));
    }

    std::vector<Key> starts_;  ///< of the pieces, the first at 0
    std::vector<PrefixValue> values_;
    std::uint64_t first_cut_ = 0;        ///< high half of the second piece's start
    int shift_ = 0;                      ///< the size of a range is 1 << shift_, in high halves
    std::vector<std::uint32_t> ranges_;  ///< the last piece that begins before each; at the end, the last piece
};

/// Of both families.
struct PrefixTables {
    PrefixTable<wire::Ipv4Address> ipv4;
    PrefixTable<wire::Ipv6Address> ipv6;
};

}  // namespace verbline::program
