// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/performance.h"

#include <algorithm>
#include <span>

#include "datapath/wire/bytes.h"

namespace verbline::mad {
namespace {

constexpr std::uint16_t class_port_info = 0x0001, port_counters = 0x0012, port_counters_extended = 0x001d;
constexpr std::size_t data_offset = 64;  // 16.1.2
constexpr std::uint8_t our_port = 1;
/// ClassPortInfo:CapabilityMask: counters of 64 bits, without those of unicast and multicast (16.1.3.1).
constexpr std::uint16_t extended_width_no_ietf = 1U << 10;

/// A counter in an attribute: where it is and which bit of CounterSelect resets it.
struct Place {
    std::uint64_t PerformanceCounters::* counter;
    std::size_t offset, bytes;
    unsigned select;
};
/// 16.1.3.5.
constexpr Place places[] = {
    {&PerformanceCounters::link_downed, 7, 1, 2},        {&PerformanceCounters::receive_errors, 8, 2, 3},
    {&PerformanceCounters::transmit_discards, 14, 2, 6}, {&PerformanceCounters::transmit_data, 24, 4, 12},
    {&PerformanceCounters::receive_data, 28, 4, 13},     {&PerformanceCounters::transmit_packets, 32, 4, 14},
    {&PerformanceCounters::receive_packets, 36, 4, 15}};
/// 16.1.4.11.
constexpr Place extended_places[] = {{&PerformanceCounters::transmit_data, 8, 8, 0},
                                     {&PerformanceCounters::receive_data, 16, 8, 1},
                                     {&PerformanceCounters::transmit_packets, 24, 8, 2},
                                     {&PerformanceCounters::receive_packets, 32, 8, 3}};

void store(std::span<std::byte> data, const Place& place, std::uint64_t value) {
    switch (place.bytes) {
        case 1: data[place.offset] = static_cast<std::byte>(std::min<std::uint64_t>(value, UINT8_MAX)); break;
        case 2:
            wire::store16(data, place.offset, static_cast<std::uint16_t>(std::min<std::uint64_t>(value, UINT16_MAX)));
            break;
        case 4:
            wire::store32(data, place.offset, static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX)));
            break;
        default: wire::store64(data, place.offset, value);
    }
}

wire::MadStatus count(std::span<std::byte> data, std::span<const Place> in, bool set, const PerformanceCounters& now,
                      PerformanceCounters& zero) {
    constexpr std::size_t port_select = 1, counter_select = 2;
    if (static_cast<std::uint8_t>(data[port_select]) != our_port) return wire::MadStatus::invalid_value;
    const auto selected = wire::load16(data, counter_select);
    std::ranges::fill(data.subspan(4), std::byte{0});
    for (const auto& place : in) {
        if (set && (selected >> place.select & 1) != 0) zero.*place.counter = now.*place.counter;
        store(data, place, now.*place.counter - zero.*place.counter);
    }
    return wire::MadStatus::ok;
}

void describe_class(std::span<std::byte> data) {
    constexpr std::byte response_time{18};  // 4.096 us * 2^18: a second
    std::ranges::fill(data, std::byte{0});
    data[0] = data[1] = std::byte{1};  // base version, class version
    wire::store16(data, 2, extended_width_no_ietf);
    data[7] = response_time;
}

}  // namespace

std::optional<MadBuffer> PerformanceAgent::answer(MadBytes request, const PerformanceCounters& now) {
    auto header = wire::Mad::parse(request);
    if (!header || wire::is_response(header->method)) return std::nullopt;
    MadBuffer response{};
    std::ranges::copy(request, response.begin());
    const auto data = std::span(response).subspan(data_offset);
    const bool set = header->method == wire::MadMethod::set;
    auto status = wire::MadStatus::unsupported_method_attribute;
    if (!set && header->method != wire::MadMethod::get) {
        status = wire::MadStatus::unsupported_method;
    } else if (header->attribute == class_port_info && !set) {
        describe_class(data);
        status = wire::MadStatus::ok;
    } else if (header->attribute == port_counters) {
        status = count(data, places, set, now, zero_);
    } else if (header->attribute == port_counters_extended) {
        status = count(data, extended_places, set, now, zero_extended_);
    }
    header->method = wire::MadMethod::get_response;
    header->status = static_cast<std::uint16_t>(status);
    header->emit(std::span(response).first<wire::Mad::size>());
    return response;
}

}  // namespace verbline::mad
