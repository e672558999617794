// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/offload/toeplitz.h"

#include <algorithm>

#include <rte_thash.h>

namespace verbline::offload {

Toeplitz::Toeplitz(std::span<const std::uint8_t, key_size> key) {
    alignas(std::uint32_t) std::array<std::uint8_t, key_size> words;  // rte_softrss reads the key by words
    std::ranges::copy(key, words.begin());
    std::array<std::uint32_t, max_input / 4> input{};  // host byte order
    for (std::size_t byte = 0; byte < max_input; ++byte) {
        auto& word = input[byte / 4];
        const auto hash_of = [&](std::uint32_t value) {
            word = value << (24 - byte % 4 * 8);
            return rte_softrss(input.data(), input.size(), words.data());
        };
        for (std::uint32_t half = 0; half < 16; ++half) {
            tables_[byte].high[half] = hash_of(half << 4);
            tables_[byte].low[half] = hash_of(half);
        }
        word = 0;
    }
}

}  // namespace verbline::offload
