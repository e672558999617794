// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// For a test's time the process may open only so many files.

#include <fcntl.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace verbline::test {

class DescriptorLimit {
public:
    /// `more`: files that may be opened beside those that are open.
    explicit DescriptorLimit(rlim_t more) {
        getrlimit(RLIMIT_NOFILE, &before_);
        auto limit = before_;
        for (limit.rlim_cur = 0; more > 0; ++limit.rlim_cur) {
            if (fcntl(static_cast<int>(limit.rlim_cur), F_GETFD) < 0) --more;
        }
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;
    ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

}  // namespace verbline::test
