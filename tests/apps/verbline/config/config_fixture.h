// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A valid configuration, and ways to change it.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apps/verbline/config/config.h"

namespace verbline::cli::test_config {

inline constexpr std::string_view valid_text = R"(name = "gw"
netns = "vl-gw"
# a comment

[[port]]
name = "lan"
type = "ethernet"
device = "tap:lan0,netns=lan"
address = ["10.1.0.1/24", "192.168.7.1/30", "fd76:1::1/64"]
mtu = 9000
# another
capture = "/tmp/lan.pcapng"

[[port]]
name = "ib0"
type = "ipoib"
device = ["memif:/run/a.sock,server", "memif:/run/b.sock,server"]
sm = "ibsim:vl,host=H2"
pkey = 0x8001
address = "10.2.0.1/24"
impair = "loss=0.01,seed=7"

[[route]]
to = "10.3.0.0/16"
via = "10.2.0.7"
)";

/// The valid configuration with one line in place of another.
inline std::string with(std::string_view line, std::string_view instead) {
    std::string text(valid_text);
    const auto at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), instead);
}

/// The error that `text` is rejected with.
inline std::string error_of(const std::string& text) {
    const auto config = parse_config(text, "gw.toml");
    EXPECT_FALSE(config);
    return config ? "" : config.error().what;
}

}  // namespace verbline::cli::test_config
