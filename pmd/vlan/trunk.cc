// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vlan/trunk.h"

#include <cstdint>

#include <fmt/format.h>

template class verbline::pmd::trunk::Trunk<verbline::pmd::vlan::Sorting>;
template class verbline::pmd::trunk::Port<verbline::pmd::vlan::Sorting>;

namespace verbline::pmd::vlan {

std::string Sorting::name(std::string_view device, Id id) {
    return id == untagged ? std::string(device) : fmt::format("{}.{}", device, static_cast<std::uint16_t>(id));
}

}  // namespace verbline::pmd::vlan
