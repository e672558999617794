// SPDX-License-Identifier: BSD-3-Clause
#include "apps/forwarder/options.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::forwarder {
namespace {

template <class... Words>
Result<std::optional<Options>> parse(Words... words) {
    const std::array argv{"forwarder", words...};
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(ForwarderOptions, TwoDevicesOfAnyKind) {
    const auto options = parse("-m", "64", "--", "tap:left,netns=here", "memif:/tmp/a.sock,server");
    ASSERT_TRUE(options && *options);
    EXPECT_EQ((*options)->eal, (std::vector<std::string>{"-m", "64"}));
    EXPECT_EQ((*options)->left, pmd::DeviceSpec(pmd::TapSpec{.interface = "left", .netns = "here"}));
    EXPECT_EQ((*options)->right, pmd::DeviceSpec(pmd::MemifSpec{.path = "/tmp/a.sock", .server = true}));
}

TEST(ForwarderOptions, RefusalsNameWhatIsWrong) {
    const auto refusal = [](auto... words) {
        const auto options = parse(words...);
        return options ? std::string("accepted") : options.error().what;
    };
    EXPECT_NE(refusal("tap:left").find("RIGHT"), std::string::npos);
    EXPECT_NE(refusal("tap:left", "disk:right").find("disk:right"), std::string::npos);
    EXPECT_NE(refusal("tap:left", "tap:right", "tap:more").find("tap:more"), std::string::npos);
}

}  // namespace
}  // namespace verbline::forwarder
