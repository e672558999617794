// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/key_source.h"

#include <utility>

#include <sys/random.h>

namespace verbline::memory {

Result<std::uint32_t> SystemRandom::operator()() {
    if (left_ == 0) {
        if (getrandom(words_.data(), sizeof words_, 0) != static_cast<ssize_t>(sizeof words_))
            return failure(errno, "the kernel gives no random numbers for keys: allow getrandom(2)");
        left_ = words_.size();
    }
    return std::exchange(words_[--left_], 0);  // zeroes the word, so that key bits do not stay in memory
}

}  // namespace verbline::memory
