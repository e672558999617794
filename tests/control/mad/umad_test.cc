// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/umad.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/fabric.h"

namespace verbline::mad {
namespace {

TEST(Umad, JoinsAGroupAndFindsAPathThroughLibibumad) {
    const char* probe = std::getenv("VERBLINE_UMAD_PROBE");
    ASSERT_NE(probe, nullptr) << "run by `meson test`";
    const test::Fabric fabric(test::star(3));
    auto environment = fabric.environment("H2");
    // The preload library comes before the sanitizer's, leaks, and reads past the end of its own buffers.
    environment.emplace_back("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0:replace_intrin=0");
    test::Child child({.command = {probe},
                       .environment = environment,
                       .directory = fabric.directory(),
                       .output = fabric.path("probe.out")});
    EXPECT_EQ(child.wait(), 0);
    const auto output = fabric.contents("probe.out");
    EXPECT_NE(output.find("port: active, lid "), std::string::npos) << output;
    EXPECT_NE(output.find("mtu 2048"), std::string::npos) << output;
    EXPECT_NE(output.find("group: 0xc000"), std::string::npos) << output;
    EXPECT_NE(output.find("path: fe80::"), std::string::npos) << output;
    EXPECT_NE(output.find("state: active"), std::string::npos) << output;
}

}  // namespace
}  // namespace verbline::mad
