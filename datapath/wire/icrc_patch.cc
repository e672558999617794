// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc_patch.h"

#include <algorithm>
#include <cstdint>

#include "datapath/wire/icrc.h"
#include "datapath/wire/icrc_shift.h"
#include "datapath/wire/reflected.h"

namespace verbline::wire {

void patch_with_icrc(MutableBytes packet, std::size_t at, Bytes with) noexcept {
    const auto place = packet.subspan(at, with.size());
    Reflected change = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
        change ^= std::to_integer<std::uint32_t>(place[i] ^ with[i]);
        for (unsigned bit = 0; bit < 8; ++bit) change = times_x(change);
    }
    std::ranges::copy(with, place.begin());
    const auto icrc = packet.last(icrc_size);
    change = icrc_behind_zeros(change, packet.size() - icrc_size - at - with.size());
    for (unsigned i = 0; i < icrc_size; ++i) icrc[i] ^= static_cast<std::byte>(change >> 8 * i);
}

}  // namespace verbline::wire
