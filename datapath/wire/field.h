// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One field of a header: which bits hold it and which type it has. `header.h` puts fields together.
///
/// All fields are big-endian; bits are counted from the most significant, as the standards draw them. Offsets are
/// constants, so that a byte-aligned field compiles to one load and a byte swap. Callers check the length.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

/// The place of a field: byte and, within it, bit from the most significant.
constexpr std::size_t at(std::size_t byte, std::size_t bit = 0) {
    return byte * 8 + bit;
}

/// `width` bits from bit `place` on, as an unsigned number. At most eight bytes are touched.
template <std::size_t place, std::size_t width>
struct BitField {
    static constexpr std::size_t first = place / 8, last = (place + width - 1) / 8, count = last - first + 1;
    static_assert(width >= 1 && width <= 64 && count <= 8);
    static constexpr std::size_t shift = 7 - (place + width - 1) % 8;
    static constexpr std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);

    static constexpr std::uint64_t load(Bytes b) { return whole(b) >> shift & mask; }

    /// Bits of `v` above the width are cut off; neighbouring bits in the same bytes are preserved.
    static constexpr void store(MutableBytes b, std::uint64_t v) {
        v = (v & mask) << shift;
        if constexpr (width != count * 8) v |= whole(b) & ~(mask << shift);
        for (std::size_t i = 0; i < count; ++i) store8(b, last - i, v >> (8 * i) & 0xff);
    }

private:
    static constexpr std::uint64_t whole(Bytes b) {
        // As loads of two halves the compiler sees the byte swap; as a loop of eight bytes GCC 12 does not.
        if constexpr (count == 8) return load64(b, first);
        if constexpr (count == 4) return load32(b, first);
        std::uint64_t word = 0;
        for (std::size_t i = first; i <= last; ++i) word = word << 8 | load8(b, i);
        return word;
    }
};

/// Layout of a type that itself consists of fields (an IPoIB address inside an ARP packet): its member `Layout`, or a
/// specialisation for types without one.
template <class Value>
struct LayoutOf {};
template <class Value>
    requires requires { typename Value::Layout; }
struct LayoutOf<Value> {
    using type = typename Value::Layout;
};

template <class Value>
concept Number = std::integral<Value> || std::is_enum_v<Value>;
/// A class around a number: constructible from it, and `value()` returns it. E.g. Psn.
template <class Value>
concept StrongNumber = requires(Value v) { Value{v.value()}; };
/// A struct whose only member `bytes` is in wire format. E.g. Gid and MacAddress.
template <class Value>
concept Address = requires(Value v) { requires sizeof(v) == sizeof(v.bytes); };

/// The bits of one member of a header.
template <auto member, std::size_t place, std::size_t bits>
struct Field;

template <class Header, class Member, Member Header::* member, std::size_t place, std::size_t bits>
struct Field<member, place, bits> {
    static constexpr std::size_t begin = place, width = bits;
    using Value = Member;

    static constexpr Value load(Bytes b) {
        if constexpr (Number<Value>) {
            return static_cast<Value>(BitField<place, bits>::load(b));
        } else if constexpr (StrongNumber<Value>) {
            return Value{static_cast<decltype(Value{}.value())>(BitField<place, bits>::load(b))};
        } else {
            Value value{};
            if constexpr (Address<Value>) {
                std::ranges::copy(chunk(b), sized(value.bytes).begin());
            } else if constexpr (requires { typename LayoutOf<Value>::type; }) {
                LayoutOf<Value>::type::load(chunk(b), value);
            } else {
                std::ranges::copy(chunk(b), sized(value).begin());
            }
            return value;
        }
    }

    static constexpr void store(MutableBytes b, const Value& value) {
        if constexpr (Number<Value>) {
            BitField<place, bits>::store(b, static_cast<std::uint64_t>(value));
        } else if constexpr (StrongNumber<Value>) {
            BitField<place, bits>::store(b, value.value());
        } else if constexpr (Address<Value>) {
            std::ranges::copy(sized(value.bytes), chunk(b).begin());
        } else if constexpr (requires { typename LayoutOf<Value>::type; }) {
            LayoutOf<Value>::type::store(chunk(b), value);
        } else {
            std::ranges::copy(sized(value), chunk(b).begin());
        }
    }

    static constexpr void load_into(Header& header, Bytes b) { header.*member = load(b); }
    static constexpr void store_from(const Header& header, MutableBytes b) { store(b, header.*member); }

private:
    static constexpr auto chunk(auto b) {
        static_assert(place % 8 == 0 && bits % 8 == 0);
        return b.subspan(place / 8, bits / 8);
    }
    static constexpr auto& sized(auto& array) {
        static_assert(sizeof(array) * 8 == bits);
        return array;
    }
};

/// Reserved bits: sent as zero, ignored on receipt.
template <std::size_t place, std::size_t bits>
struct Reserved {
    static constexpr std::size_t begin = place, width = bits;
};

/// Bits with a fixed value, such as a version. `parse` rejects any other value with `reason`.
template <std::size_t place, std::size_t bits, std::uint64_t value, Malformed reason>
struct Constant {
    static constexpr std::size_t begin = place, width = bits;
    static constexpr Malformed refusal = reason;
    static constexpr bool holds(Bytes b) { return BitField<place, bits>::load(b) == value; }
    static constexpr void emit(MutableBytes b) { BitField<place, bits>::store(b, value); }
};

}  // namespace verbline::wire
