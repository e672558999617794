// SPDX-License-Identifier: BSD-3-Clause

// Static rates (IBTA volume 1, table 231): as multiples of 2.5 Gb/s and in Mb/s. Signalling rates, thus 100 Gb/s, being
// four lanes of 25.78125 Gb/s, is 103125. -1, or IBV_RATE_MAX in the other direction: no such thing.

#include <algorithm>
#include <iterator>

#include <infiniband/verbs.h>

#include "apps/libibverbs/abi/convert.h"

using verbline::verbs::number;

namespace {

struct Rate {
    int rate;  ///< ibv_rate
    int mbps;
    int multiple = -1;  ///< of 2.5 Gb/s; -1 (none) for lanes of 14 or 25 Gb/s, except 28 and 50, as in libibverbs
};

constexpr Rate rates[] = {
    {IBV_RATE_2_5_GBPS, 2'500, 1},     {IBV_RATE_5_GBPS, 5'000, 2},          {IBV_RATE_10_GBPS, 10'000, 4},
    {IBV_RATE_14_GBPS, 14'062},        {IBV_RATE_20_GBPS, 20'000, 8},        {IBV_RATE_25_GBPS, 25'781},
    {IBV_RATE_28_GBPS, 28'125, 11},    {IBV_RATE_30_GBPS, 30'000, 12},       {IBV_RATE_40_GBPS, 40'000, 16},
    {IBV_RATE_50_GBPS, 53'125, 20},    {IBV_RATE_56_GBPS, 56'250},           {IBV_RATE_60_GBPS, 60'000, 24},
    {IBV_RATE_80_GBPS, 80'000, 32},    {IBV_RATE_100_GBPS, 103'125},         {IBV_RATE_112_GBPS, 112'500},
    {IBV_RATE_120_GBPS, 120'000, 48},  {IBV_RATE_168_GBPS, 168'750},         {IBV_RATE_200_GBPS, 206'250},
    {IBV_RATE_300_GBPS, 309'375},      {IBV_RATE_400_GBPS, 425'000, 160},    {IBV_RATE_600_GBPS, 637'500, 240},
    {IBV_RATE_800_GBPS, 850'000, 320}, {IBV_RATE_1200_GBPS, 1'275'000, 480},
};
static_assert(std::size(rates) == IBV_RATE_1200_GBPS - 1);  // their values have no gaps

const Rate* find(int Rate::* member, int value) {
    const auto* const found = std::ranges::find(rates, value, member);
    return found != std::end(rates) ? found : nullptr;
}

ibv_rate rate_of(const Rate* found) {
    return found != nullptr ? static_cast<ibv_rate>(found->rate) : IBV_RATE_MAX;
}

}  // namespace

extern "C" {

int ibv_rate_to_mult(ibv_rate rate) {
    const auto* const found = find(&Rate::rate, static_cast<int>(number(rate)));
    return found != nullptr ? found->multiple : -1;
}

ibv_rate mult_to_ibv_rate(int mult) {
    return mult > 0 ? rate_of(find(&Rate::multiple, mult)) : IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
    const auto* const found = find(&Rate::rate, static_cast<int>(number(rate)));
    return found != nullptr ? found->mbps : -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
    return rate_of(find(&Rate::mbps, mbps));
}

}  // extern "C"
