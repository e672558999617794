// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/partition/trunk.h"

#include <fmt/format.h>

template class verbline::pmd::trunk::Trunk<verbline::pmd::partition::Sorting>;
template class verbline::pmd::trunk::Port<verbline::pmd::partition::Sorting>;

namespace verbline::pmd::partition {

std::string Sorting::name(std::string_view device, Number number) {
    return fmt::format("{}.{:04x}", device, 0x8000u | static_cast<std::uint16_t>(number));
}

}  // namespace verbline::pmd::partition
