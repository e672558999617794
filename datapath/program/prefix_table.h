// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A set of prefixes for programs: the value of the longest one that holds an address.
///
/// The address space is cut where prefixes begin and end, and each piece has the value of the longest prefix over it: a
/// lookup is a binary search in an array, about four steps for ten prefixes and fifteen for ten thousand. A table is
/// made anew for each change of the set, so that it is never changed under its readers. That takes a few kilobytes,
/// where an rte_fib as the routes have it (datapath/forward/fib.h) would reserve 32 MB for each of two tables, port by
/// port, and its changes wait for readers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
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
    }

    /// 0 if no prefix holds the address.
    PrefixValue lookup(const Key& address) const noexcept {
        const Key* piece = starts_.data();
        for (std::size_t left = starts_.size(); left > 1;) {
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

    std::vector<Key> starts_;  ///< of the pieces, the first at 0
    std::vector<PrefixValue> values_;
};

/// Of both families.
struct PrefixTables {
    PrefixTable<wire::Ipv4Address> ipv4;
    PrefixTable<wire::Ipv6Address> ipv6;
};

}  // namespace verbline::program
