// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Properties of management classes that decide how their MADs travel (IBTA volume 1, 13.4.4, 13.6.1, 16).

#include <cstddef>
#include <cstdint>

#include "datapath/wire/mad.h"
#include "datapath/wire/sa.h"

namespace verbline::verbs {

/// A class of subnet management, whose MADs go by QP0.
constexpr bool is_subnet_management(wire::MadClass of) {
    return of == wire::MadClass::subnet_lid_routed || of == wire::MadClass::subnet_directed_route;
}

/// A vendor's class whose MADs name the vendor by OUI (16.5).
constexpr bool names_vendor(wire::MadClass of) {
    const auto number = static_cast<std::uint8_t>(of);
    return number >= 0x30 && number <= 0x4f;
}
constexpr std::size_t oui_offset = 37;  ///< in their MADs: 3 bytes

/// A class that may use RMPP.
constexpr bool may_use_rmpp(wire::MadClass of) {
    constexpr wire::MadClass device_administration{0x10}, boot_installation{0x12};
    return of == wire::MadClass::subnet_administration || of == device_administration || of == boot_installation ||
           names_vendor(of);
}

/// Where the data of the class begins, behind its headers. With RMPP every segment has these headers.
constexpr std::size_t data_offset(wire::MadClass of) {
    constexpr wire::MadClass device_management{0x06}, device_administration{0x10}, boot_installation{0x12};
    if (of == wire::MadClass::subnet_administration) return wire::sa_data_offset;
    if (of == device_management || of == device_administration || of == boot_installation) return 64;
    return names_vendor(of) ? 40 : wire::Mad::size;
}

/// Whether the MAD answers another: TrapRepress does, though its method has no response bit (13.4.6).
constexpr bool is_answer(const wire::Mad& mad) {
    return wire::is_response(mad.method) || mad.method == wire::MadMethod::trap_repress;
}

}  // namespace verbline::verbs
