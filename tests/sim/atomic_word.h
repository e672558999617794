// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Eight bytes that several queue pairs change at the same time, and whether what they were told can have happened one
/// after the other.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/arena.h"

namespace verbline::sim {

/// Every value that is added or swapped in is positive, and every swapped one unique: no value comes twice, so the
/// originals that were returned give the order of execution. Requests that failed may have been executed, or not.
class AtomicWord {
public:
    enum class Kind : std::uint8_t { sum, swap };

    AtomicWord(Kind kind, Block& block) : kind_(kind), block_(block) { store(0); }

    Kind kind() const { return kind_; }
    const Block& block() const { return block_; }
    /// A value that somebody saw: worth comparing with.
    std::uint64_t seen() const { return seen_; }

    void posted(std::uint64_t compare, std::uint64_t operand) { pending_.insert({compare, operand}); }
    /// False: this cannot have been the original.
    bool done(std::uint64_t compare, std::uint64_t operand, std::uint64_t original);
    /// It failed: whether it was executed is not known.
    void failed(std::uint64_t compare, std::uint64_t operand);
    /// What is wrong with what is there now; empty: nothing. All requests are done or have failed.
    std::string fault() const;

private:
    using Request = std::pair<std::uint64_t, std::uint64_t>;  ///< compare (0 for sums) and operand

    void store(std::uint64_t value) { std::memcpy(block_.bytes.data(), &value, sizeof(value)); }
    std::uint64_t load() const;
    std::string sum_fault() const;
    std::string swap_fault() const;

    Kind kind_;
    Block& block_;
    std::uint64_t seen_ = 0;
    std::multiset<Request> pending_, unknown_;
    std::map<std::uint64_t, std::uint64_t> steps_;  ///< executed: from, to
    std::set<std::uint64_t> seen_all_;              ///< originals of swaps that did not compare equal
};

}  // namespace verbline::sim
