// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/values.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/doctor/cpu_list.h"
#include "datapath/wire/text.h"

namespace verbline::bench {
namespace {

constexpr unsigned max_lcore = 1023;
constexpr std::uint32_t first_qpn = 2, last_qpn = 0xff'fffe;

template <class Number>
std::optional<Number> whole_number(std::string_view text, auto... base) {
    Number value{};
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// What comes before and behind the first hyphen; behind it the same, without one.
std::pair<std::string_view, std::string_view> ends(std::string_view text) {
    const auto hyphen = text.find('-');
    if (hyphen == text.npos) return {text, text};
    return {text.substr(0, hyphen), text.substr(hyphen + 1)};
}

template <class Address>
std::pair<Address, std::uint32_t> split(Address address) {
    if constexpr (std::is_enum_v<Address>) {
        return {Address{}, static_cast<std::uint32_t>(address)};
    } else {
        const auto low = wire::load32(address.bytes, address.bytes.size() - 4);
        for (std::size_t i = 1; i <= 4; ++i) address.bytes[address.bytes.size() - i] = {};
        return {address, low};
    }
}

template <class Address>
Result<traffic::Values<Address>> addresses(std::string_view option, std::string_view text, std::string_view example) {
    const auto [first_text, last_text] = ends(text);
    const auto first = wire::from_string<Address>(first_text), last = wire::from_string<Address>(last_text);
    if (first && last) {
        const auto [high, from] = split(*first);
        const auto [other_high, to] = split(*last);
        if (high == other_high && from <= to && to - from < UINT32_MAX) return traffic::Values{*first, to - from + 1};
    }
    return failure(EINVAL, fmt::format("{}: {} is not like {}", option, text, example));
}

}  // namespace

Result<AskedRate> parse_rate(std::string_view text) {
    struct Unit {
        std::string_view name;
        traffic::RateUnit unit;
        double factor;
    };
    using enum traffic::RateUnit;
    constexpr std::array units{Unit{"Gpps", frames, 1e9},     Unit{"Mpps", frames, 1e6},
                               Unit{"kpps", frames, 1e3},     Unit{"pps", frames, 1},
                               Unit{"Gbps", frame_bits, 1e9}, Unit{"Mbps", frame_bits, 1e6},
                               Unit{"kbps", frame_bits, 1e3}, Unit{"bps", frame_bits, 1}};
    if (text.ends_with('%')) {
        const auto percent = whole_number<double>(text.substr(0, text.size() - 1));
        if (percent && *percent > 0 && *percent <= 100) return LineShare{*percent / 100};
    }
    for (const auto& [name, unit, factor] : units) {
        if (!text.ends_with(name)) continue;
        const auto number = whole_number<double>(text.substr(0, text.size() - name.size()));
        if (number && *number * factor >= 1 && *number * factor <= 1e13) return traffic::Rate{unit, *number * factor};
        break;
    }
    return failure(EINVAL, fmt::format("--rate: {} is no rate such as 1.5Mpps, 10Gbps or 50%", text));
}

Result<traffic::Values<std::uint16_t>> parse_numbers(std::string_view option, std::string_view text,
                                                     std::uint16_t least, std::uint16_t most) {
    const auto [first_text, last_text] = ends(text);
    const auto first = whole_number<std::uint16_t>(first_text), last = whole_number<std::uint16_t>(last_text);
    if (first && last && least <= *first && *first <= *last && *last <= most)
        return traffic::Values<std::uint16_t>{*first, std::uint32_t{*last} - *first + 1};
    return failure(EINVAL, fmt::format("{}: {} is not N or FIRST-LAST, from {} to {}", option, text, least, most));
}

Result<traffic::Values<wire::MacAddress>> parse_macs(std::string_view option, std::string_view text) {
    return addresses<wire::MacAddress>(option, text, "02:00:00:00:00:01 or 02:00:00:00:00:01-02:00:00:00:01:00");
}
Result<traffic::Values<wire::Ipv4Address>> parse_ipv4(std::string_view option, std::string_view text) {
    return addresses<wire::Ipv4Address>(option, text, "198.18.0.1 or 198.18.0.1-198.18.3.232");
}
Result<traffic::Values<wire::Ipv6Address>> parse_ipv6(std::string_view option, std::string_view text) {
    return addresses<wire::Ipv6Address>(option, text, "2001:2::1 or 2001:2::1-2001:2::3e8");
}

Result<traffic::Values<wire::Qpn>> parse_qpns(std::string_view option, std::string_view text) {
    const auto number = [](std::string_view digits) {
        return digits.starts_with("0x") ? whole_number<std::uint32_t>(digits.substr(2), 16)
                                        : whole_number<std::uint32_t>(digits);
    };
    const auto [first_text, last_text] = ends(text);
    const auto first = number(first_text), last = number(last_text);
    if (first && last && first_qpn <= *first && *first <= *last && *last <= last_qpn)
        return traffic::Values<wire::Qpn>{wire::Qpn{*first}, *last - *first + 1};
    return failure(EINVAL,
                   fmt::format("{}: {} is not N or FIRST-LAST, from {} to {:#x}", option, text, first_qpn, last_qpn));
}

Result<std::vector<std::uint32_t>> parse_list(std::string_view option, std::string_view text, std::uint32_t least,
                                              std::uint32_t most) {
    std::vector<std::uint32_t> numbers;
    for (;;) {
        const auto part = text.substr(0, text.find(','));
        const auto number = whole_number<std::uint32_t>(part);
        if (!number || *number < least || *number > most)
            return failure(EINVAL, fmt::format("{}: {} is no number from {} to {}", option, part, least, most));
        numbers.push_back(*number);
        if (part.size() == text.size()) return numbers;
        text.remove_prefix(part.size() + 1);
    }
}

Result<std::vector<unsigned>> parse_lcores(std::string_view text) {
    const auto lcores = doctor::parse_cpu_list(text, max_lcore);
    if (!lcores) return failure(EINVAL, fmt::format("--lcores: {} is no list such as 1,3-5", text));
    return std::vector<unsigned>(lcores->begin(), lcores->end());
}

}  // namespace verbline::bench
