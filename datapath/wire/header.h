// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How every header in this folder is written: a value, its layout, and a checked view of it in a packet.
///
///     struct Deth {                                          the value: host byte order, strong types
///         static constexpr std::size_t size = 8;
///         QKey qkey{};
///         Qpn source{};
///
///         using Layout = Fields<Field<&Deth::qkey, at(0), 32>,      the layout: which bits hold which member
///                               Reserved<at(4), 8>,
///                               Field<&Deth::source, at(5), 24>>;
///         static_assert(Layout::tile(size));                        every bit named once, and none twice
///
///         static Parsed<Deth> parse(Bytes packet) { return read<Deth>(packet); }
///         void emit(std::span<std::byte, size> out) const { write(*this, out); }
///     };
///
///     if (const auto deth = View<Deth>::over(packet))               the view: single fields, in place
///         receive(deth->get<&Deth::source>());
///
/// `parse` needs the header at the start of the span and reads nothing behind it unless documented. A View refers to
/// the caller's bytes and must not outlive them.

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "datapath/wire/bytes.h"
#include "datapath/wire/field.h"

namespace verbline::wire {

/// A header as a value, or the reason why the bytes are not one.
template <class Header>
using Parsed = std::expected<Header, Malformed>;

/// Size of a header on the wire, bytes.
template <class Header>
constexpr std::size_t wire_size = Header::size;

/// The fields of a header in wire order.
template <class... Part>
struct Fields : Part... {
    /// True if the fields cover `size` bytes from the first bit to the last, each bit once.
    static consteval bool tile(std::size_t size) {
        std::size_t next = 0;
        return ((std::exchange(next, Part::begin + Part::width) == Part::begin) && ...) && next == size * 8;
    }

    /// The reason of the first constant that does not match; nullopt if all match.
    static constexpr std::optional<Malformed> refusal(Bytes b) {
        std::optional<Malformed> reason;
        const auto check = [&]<class P>(P) {
            if constexpr (requires { P::refusal; }) {
                if (!reason && !P::holds(b)) reason = P::refusal;
            }
        };
        (check(Part{}), ...);
        return reason;
    }

    static constexpr void load(Bytes b, auto& header) {
        const auto one = [&]<class P>(P) {
            if constexpr (requires { P::load_into(header, b); }) P::load_into(header, b);
        };
        (one(Part{}), ...);
    }

    static constexpr void store(MutableBytes b, const auto& header) {
        std::ranges::fill(b, std::byte{0});
        const auto one = [&]<class P>(P) {
            if constexpr (requires { P::store_from(header, b); }) P::store_from(header, b);
            if constexpr (requires { P::emit(b); }) P::emit(b);
        };
        (one(Part{}), ...);
    }

    /// The field that holds `member`.
    template <auto member>
    using of = decltype([]<std::size_t place, std::size_t bits>(const Field<member, place, bits>& field) {
        return field;
    }(std::declval<const Fields&>()));
};

/// A header in place in a packet. Created by `over`, which checks the length, or by `of`, whose span has it as static
/// extent. With `Byte` = std::byte, single fields can be changed in place, e.g. a TTL.
template <class Header, class Byte = const std::byte>
class View {
public:
    using Layout = typename LayoutOf<Header>::type;
    static constexpr std::size_t size = Header::size;

    static constexpr Parsed<View> over(std::span<Byte> packet) {
        if (packet.size() < size) return std::unexpected(Malformed::truncated);
        return View(packet.template first<size>());
    }

    static constexpr View of(std::span<Byte, size> header) { return View(header); }

    template <auto member>
    constexpr auto get() const {
        return Layout::template of<member>::load(bytes_);
    }

    template <auto member>
    constexpr void set(const typename Layout::template of<member>::Value& value) const
        requires(!std::is_const_v<Byte>)
    {
        Layout::template of<member>::store(bytes_, value);
    }

    /// The whole header as a value, if its constants match.
    constexpr Parsed<Header> value() const {
        if (const auto reason = Layout::refusal(bytes_)) return std::unexpected(*reason);
        Header header{};
        Layout::load(bytes_, header);
        return header;
    }

    constexpr std::span<Byte, size> bytes() const { return bytes_; }

private:
    constexpr explicit View(std::span<Byte, size> bytes) : bytes_(bytes) {}

    std::span<Byte, size> bytes_;
};

template <class Header>
constexpr Parsed<Header> read(Bytes packet) {
    const auto view = View<Header>::over(packet);
    if (!view) return std::unexpected(view.error());
    return view->value();
}

template <class Header>
constexpr void write(const Header& header, std::span<std::byte, Header::size> out) {
    LayoutOf<Header>::type::store(out, header);
}

}  // namespace verbline::wire
