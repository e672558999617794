// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <iterator>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "datapath/wire/ipoib.h"

namespace verbline::wire {
namespace {

std::string with_colons(Bytes bytes) {
    std::string text;
    for (const auto byte : bytes) {
        fmt::format_to(std::back_inserter(text), "{}{:02x}", text.empty() ? "" : ":", static_cast<unsigned>(byte));
    }
    return text;
}

/// A whole number: decimal, or hexadecimal behind 0x.
template <std::unsigned_integral Number>
std::optional<Number> number(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    Number value = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || end != text.end()) return std::nullopt;
    return value;
}

/// Bytes of two hexadecimal digits each, separated by colons.
template <std::size_t count>
std::optional<std::array<std::byte, count>> colon_separated(std::string_view text) {
    if (text.size() != count * 3 - 1) return std::nullopt;
    std::array<std::byte, count> bytes{};
    for (std::size_t i = 0; i < count; ++i) {
        const auto digits = text.substr(i * 3, 2);
        std::uint8_t value = 0;
        const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, 16);
        if (error != std::errc{} || end != digits.end()) return std::nullopt;
        if (i + 1 < count && text[i * 3 + 2] != ':') return std::nullopt;
        bytes[i] = std::byte{value};
    }
    return bytes;
}

/// An address and the length of its prefix.
template <class Prefix, unsigned max_length>
std::optional<Prefix> prefix(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == text.npos) return std::nullopt;
    const auto address = from_string<decltype(Prefix::address)>(text.substr(0, slash));
    const auto digits = text.substr(slash + 1);
    std::uint8_t length = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), length);
    if (!address || error != std::errc{} || end != digits.end() || length > max_length) return std::nullopt;
    return Prefix{*address, length};
}

std::optional<std::array<std::byte, 16>> ipv6_bytes(std::string_view text) {
    std::array<std::byte, 16> bytes{};
    if (inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1) return std::nullopt;
    if (text.find('\0') != text.npos) return std::nullopt;
    return bytes;
}

std::string ipv6_text(const std::array<std::byte, 16>& bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

}  // namespace

std::string to_string(Ipv4Address address) {
    const auto a = static_cast<std::uint32_t>(address);
    return fmt::format("{}.{}.{}.{}", a >> 24, a >> 16 & 0xff, a >> 8 & 0xff, a & 0xff);
}
std::string to_string(const Ipv4Prefix& prefix) {
    return fmt::format("{}/{}", to_string(prefix.address), prefix.length);
}
std::string to_string(const Ipv6Address& address) {
    return ipv6_text(address.bytes);
}
std::string to_string(const Ipv6Prefix& prefix) {
    return fmt::format("{}/{}", to_string(prefix.address), prefix.length);
}
std::string to_string(const MacAddress& address) {
    return with_colons(address.bytes);
}
std::string to_string(const IpoibAddress& address) {
    std::array<std::byte, IpoibAddress::size> bytes{};
    emit(address, bytes);
    return with_colons(bytes);
}
std::string to_string(const Gid& gid) {
    return ipv6_text(gid.bytes);
}
std::string to_string(Guid guid) {
    return fmt::format("{:#018x}", static_cast<std::uint64_t>(guid));
}
std::string to_string(Lid lid) {
    const auto number = static_cast<std::uint16_t>(lid);
    return lid >= first_multicast_lid ? fmt::format("{:#06x}", number) : fmt::format("{}", number);
}
std::string to_string(PKey pkey) {
    return fmt::format("{:#06x}", static_cast<std::uint16_t>(pkey));
}

std::string_view to_string(Malformed reason) {
    switch (reason) {
        case Malformed::truncated: return "truncated";
        case Malformed::version: return "version";
        case Malformed::length: return "length";
        case Malformed::checksum: return "checksum";
    }
    return "unknown";
}

template <>
std::optional<Ipv4Address> from_string(std::string_view text) {
    // inet_pton would read past the end of a view, and inet_aton accepts "10.1".
    std::uint32_t address = 0;
    for (int octet = 0; octet < 4; ++octet) {
        const auto dot = octet < 3 ? text.find('.') : text.size();
        if (dot == text.npos || dot == 0 || dot > 3) return std::nullopt;
        std::uint8_t value = 0;
        const auto [end, error] = std::from_chars(text.begin(), text.begin() + dot, value);
        if (error != std::errc{} || end != text.begin() + dot) return std::nullopt;
        address = address << 8 | value;
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return Ipv4Address{address};
}

template <>
std::optional<Ipv4Prefix> from_string(std::string_view text) {
    return prefix<Ipv4Prefix, 32>(text);
}

template <>
std::optional<Ipv6Address> from_string(std::string_view text) {
    const auto bytes = ipv6_bytes(text);
    return bytes ? std::optional(Ipv6Address{*bytes}) : std::nullopt;
}

template <>
std::optional<Ipv6Prefix> from_string(std::string_view text) {
    return prefix<Ipv6Prefix, 128>(text);
}

template <>
std::optional<Gid> from_string(std::string_view text) {
    const auto bytes = ipv6_bytes(text);
    return bytes ? std::optional(Gid{*bytes}) : std::nullopt;
}

template <>
std::optional<MacAddress> from_string(std::string_view text) {
    const auto bytes = colon_separated<6>(text);
    return bytes ? std::optional(MacAddress{*bytes}) : std::nullopt;
}

template <>
std::optional<IpoibAddress> from_string(std::string_view text) {
    const auto bytes = colon_separated<IpoibAddress::size>(text);
    return bytes ? std::optional(*parse_ipoib_address(*bytes)) : std::nullopt;
}

template <>
std::optional<Guid> from_string(std::string_view text) {
    const auto value = number<std::uint64_t>(text);
    return value ? std::optional(Guid{*value}) : std::nullopt;
}

template <>
std::optional<Lid> from_string(std::string_view text) {
    const auto value = number<std::uint16_t>(text);
    return value ? std::optional(Lid{*value}) : std::nullopt;
}

template <>
std::optional<PKey> from_string(std::string_view text) {
    const auto value = number<std::uint16_t>(text);
    return value ? std::optional(PKey{*value}) : std::nullopt;
}

}  // namespace verbline::wire
