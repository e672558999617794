// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/open.h"

#include <gtest/gtest.h>

namespace verbline::mad {
namespace {

TEST(Spec, ReadsBothKinds) {
    EXPECT_EQ(parse_spec("ibsim:vl,host=H2"), Spec(IbsimSpec{"vl", "H2"}));
    EXPECT_EQ(parse_spec("ibsim:vl,host=node-1 HCA-2"), Spec(IbsimSpec{"vl", "node-1 HCA-2"}));
    EXPECT_EQ(parse_spec("umad:mlx5_0,port=2"), Spec(UmadSpec{"mlx5_0", 2}));
    EXPECT_EQ(parse_spec("umad:mlx5_0"), Spec(UmadSpec{"mlx5_0", 1}));
}

TEST(Spec, RefusesEverythingElseInOneLineThatQuotesIt) {
    for (const auto* text :
         {"", "ibsim", "ibsim:", "ibsim:vl", "ibsim:vl,", "ibsim:vl,host=", "ibsim:vl,port=1", "ibsim:,host=H1",
          "umad:", "umad:mlx5_0,port=", "umad:mlx5_0,port=0", "umad:mlx5_0,port=255", "umad:mlx5_0,port=1x",
          "umad:mlx5_0,host=1", "verbs:mlx5_0", "vl,host=H2"}) {
        const auto spec = parse_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_NE(spec.error().what.find('\'' + std::string(text) + '\''), std::string::npos) << spec.error().what;
        EXPECT_EQ(spec.error().what.find('\n'), std::string::npos);
    }
}

TEST(Open, WithoutFabricOrDeviceNamesWhatIsMissing) {
    const auto loop = *control::Loop::create();
    const auto fabric = open("ibsim:no-such-fabric,host=H2", *loop);
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().what,
              "no ibsim fabric named 'no-such-fabric' is running: start ibsim with IBSIM_SOCKNAME=no-such-fabric");
    const auto device = open("umad:no-such-device", *loop);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ENODEV);
    const auto name = open("ibsim:vl,host=" + std::string(40, 'x'), *loop);
    ASSERT_FALSE(name);
    EXPECT_EQ(name.error().what, "an ibsim host's name has 1 to 31 bytes");
}

}  // namespace
}  // namespace verbline::mad
