// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/size_mix.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace verbline::traffic {
namespace {

constexpr std::string_view imix = "64:7,594:4,1518:1";
constexpr std::uint32_t max_weight = 1000;

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t least, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) return std::nullopt;
    return value;
}

/// Weighted round robin: in each step every size earns its weight, and the richest one pays the sum of all and is next.
std::vector<std::uint16_t> spread(const std::vector<std::uint32_t>& weights) {
    const auto sum = static_cast<std::int64_t>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    std::vector<std::int64_t> credit(weights.size(), 0);
    std::vector<std::uint16_t> order;
    for (std::int64_t step = 0; step < sum; ++step) {
        for (std::size_t i = 0; i < weights.size(); ++i) credit[i] += weights[i];
        const auto richest = std::ranges::max_element(credit);
        *richest -= sum;
        order.push_back(static_cast<std::uint16_t>(richest - credit.begin()));
    }
    return order;
}

}  // namespace

Result<SizeMix> SizeMix::parse(std::string_view text) {
    const auto given = text;
    if (text == "imix") text = imix;
    SizeMix mix;
    std::vector<std::uint32_t> weights;
    while (true) {
        const auto part = text.substr(0, text.find(','));
        const auto colon = part.find(':');
        const auto size = number(part.substr(0, colon), min_frame, max_frame);
        const auto weight = colon == part.npos ? 1 : number(part.substr(colon + 1), 1, max_weight);
        if (!size || !weight) {
            return failure(EINVAL,
                           fmt::format("{} is no frame size: give {} to {}, several as SIZE:WEIGHT,..., or imix", given,
                                       min_frame, max_frame));
        }
        mix.sizes_.push_back(*size);
        weights.push_back(*weight);
        if (part.size() == text.size()) break;
        text.remove_prefix(part.size() + 1);
    }
    mix.period_ = spread(weights);
    return mix;
}

std::uint32_t SizeMix::largest() const {
    return std::ranges::max(sizes_);
}

double SizeMix::average() const {
    double sum = 0;
    for (const auto index : period_) sum += sizes_[index];
    return sum / static_cast<double>(period_.size());
}

}  // namespace verbline::traffic
