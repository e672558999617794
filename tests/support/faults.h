// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Fault injection: a scenario runs again and again, and each time one system call or allocation that it makes fails.
///
///     expect_survives_faults("memif server", [&] -> Outcome {
///         auto device = Memif::create(options, faulty_pool());  // (faulty_pool.h) fails with one line, or
///         if (!device) return device.error();
///         ...                                                       // works in spite of the fault
///         return {};
///     });
///
/// The k-th call fails with each errno that it may plausibly have (faults_calls.h), for every k, until a run makes no
/// k-th call. After each run nothing may be left behind (resources.h), and an error must be one line of text. What is
/// wrapped: the calls of our own libraries, by the linker (--wrap); not those inside DPDK, libstdc++ or the C library.
///
/// Only the thread that runs the scenario meets faults.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pmd/base/error.h"

namespace verbline::test {

/// Nothing: it worked all the same.
using Outcome = std::optional<Error>;

enum class Inject : std::uint8_t {
    calls_and_memory,
    calls,  ///< `new` does not fail
};

struct FaultTally {
    unsigned calls = 0;          ///< that a run without faults makes
    unsigned faults = 0;         ///< runs with one fault each
    unsigned errors = 0;         ///< of these: ended with an error
    unsigned out_of_memory = 0;  ///< ended with std::bad_alloc
    unsigned recovered = 0;      ///< worked in spite of the fault
    std::string last_error;
};

/// What the scenarios may call besides: whatever the test itself needs done without faults.
class WithoutFaults {
public:
    WithoutFaults();
    WithoutFaults(const WithoutFaults&) = delete;
    WithoutFaults& operator=(const WithoutFaults&) = delete;
    ~WithoutFaults();

private:
    bool before_;
};

/// Fails the test if a run ends by anything but success, an error of one line or std::bad_alloc, or leaves something
/// behind. Prints the tally.
FaultTally expect_survives_faults(std::string_view scenario, const std::function<Outcome()>& run,
                                  Inject inject = Inject::calls_and_memory);

}  // namespace verbline::test
