// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/arguments.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "control/mad/open.h"
#include "datapath/wire/text.h"

namespace verbline::net_ipoib {
namespace {

constexpr std::uint32_t least_mtu = 68;          // RFC 791, 3.2
constexpr std::uint32_t least_null_packet = 28;  // IPv4 and UDP

/// The next argument, up to a comma outside of brackets, taken off the front. DPDK's own rte_kvargs lets brackets hold
/// commas, but no further `=`, which an `sm` has.
std::string_view take_argument(std::string_view& rest) {
    std::size_t end = 0;
    for (int depth = 0; end < rest.size() && (depth > 0 || rest[end] != ','); ++end)
        depth += (rest[end] == '[') - (rest[end] == ']');
    const auto taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return taken;
}

std::string_view without_brackets(std::string_view value) {
    const bool in_brackets = value.starts_with('[') && value.ends_with(']');
    return in_brackets ? value.substr(1, value.size() - 2) : value;
}

Result<std::uint32_t> number(std::string_view name, std::string_view text, std::uint32_t least, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
        return failure(EINVAL, fmt::format("{}={} is no number from {} to {}", name, text, least, most));
    return value;
}

Result<void> set_device(Arguments& out, std::string_view text) {
    constexpr std::string_view null = "null";
    if (text == null) return {};
    if (text.starts_with("null:")) {
        const auto size = number("device=null:", text.substr(null.size() + 1), least_null_packet, default_mtu);
        if (!size) return std::unexpected(size.error());
        out.null_packet = *size;
        return {};
    }
    auto spec = pmd::parse_device_spec(text);
    if (!spec) return std::unexpected(spec.error());
    if (std::holds_alternative<pmd::DpdkSpec>(*spec))
        return failure(EINVAL, "device=dpdk: would make another port of the program; use eth:, tap:, memif: or hca:");
    out.device = std::move(*spec);
    return {};
}

Result<void> set_link(Arguments& out, std::string_view text) {
    if (text != "infiniband" && text != "roce_v2")
        return failure(EINVAL, fmt::format("link={} is neither infiniband nor roce_v2", text));
    out.roce = text == "roce_v2";
    return {};
}

Result<void> set(Arguments& out, std::string_view name, std::string_view value) {
    const auto store = [](auto& to, const auto& parsed) -> Result<void> {
        if (!parsed) return std::unexpected(parsed.error());
        to = *parsed;
        return {};
    };
    if (name == "device") return set_device(out, value);
    if (name == "link") return set_link(out, value);
    if (name == "mtu") return store(out.mtu, number(name, value, least_mtu, largest_mtu));
    if (name == "hosts") return store(out.hosts, number(name, value, 1, 1'000'000));
    if (name == "sm") {
        out.sm = value;
        const auto good = mad::parse_spec(value);
        return good ? Result<void>{} : std::unexpected(good.error());
    }
    if (name == "pkey") {
        const auto pkey = wire::from_string<wire::PKey>(value);
        if (!pkey) return failure(EINVAL, fmt::format("pkey={} is no P_Key such as 0x8001", value));
        out.pkey = *pkey;
        return {};
    }
    if (name == "mac") {
        const auto mac = wire::from_string<wire::MacAddress>(value);
        if (!mac || mac->multicast() || *mac == wire::MacAddress{})
            return failure(EINVAL,
                           fmt::format("mac={} is no address of an interface such as 02:00:00:00:00:01", value));
        out.mac = *mac;
        return {};
    }
    return failure(EINVAL, fmt::format("there is no argument {}; there are {}", name, VERBLINE_NET_IPOIB_PARAMETERS));
}

/// What one argument alone does not tell.
Result<void> check(const Arguments& arguments) {
    if (arguments.roce && !arguments.device) return failure(EINVAL, "link=roce_v2 needs a device with a wire");
    if (arguments.roce && !arguments.sm.empty())
        return failure(EINVAL, "sm= has no use with link=roce_v2, where there is no subnet manager");
    if (arguments.roce && !arguments.device_is_of_kernel() && !arguments.mac)
        return failure(EINVAL, "mac= is missing: addresses on RoCE are made of it, and tap: and memif: have none");
    if (arguments.roce || !arguments.device) {
        if (arguments.sm.empty()) return {};
        return failure(EINVAL, "sm= has no use with device=null, which has no wire");
    }
    if (!arguments.sm.empty()) return {};
    return failure(EINVAL,
                   "sm= is missing: where the subnet manager is, such as sm=[ibsim:vl,host=H3]; on Ethernet "
                   "there is none: link=roce_v2");
}

}  // namespace

bool Arguments::device_is_of_kernel() const {
    return adapter() || (device && std::holds_alternative<pmd::EthernetSpec>(*device));
}

std::uint16_t Arguments::device_queues() const {
    if (!device) return most_queues;
    if (const auto* tap = std::get_if<pmd::TapSpec>(&*device)) return tap->queues;
    if (const auto* memif = std::get_if<pmd::MemifSpec>(&*device)) return memif->queues;
    return 1;
}

Result<Arguments> parse_arguments(std::string_view text) {
    Arguments out;
    bool has_device = false, has_mtu = false;
    while (!text.empty()) {
        const auto argument = take_argument(text);
        const auto equals = argument.find('=');
        const auto name = argument.substr(0, equals);
        if (equals == std::string_view::npos || equals + 1 == argument.size())
            return failure(EINVAL, fmt::format("{} has no value: write name=value", name));
        has_device |= name == "device";
        has_mtu |= name == "mtu";
        if (auto good = set(out, name, without_brackets(argument.substr(equals + 1))); !good)
            return std::unexpected(good.error());
    }
    if (!has_device)
        return failure(EINVAL, "device= is missing: what carries the packets, such as device=memif:/run/a.sock");
    if (auto good = check(out); !good) return std::unexpected(good.error());
    if (out.roce && !has_mtu) out.mtu = default_roce_mtu;
    return out;
}

}  // namespace verbline::net_ipoib
