// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/arguments.h"

#include <string>

#include <gtest/gtest.h>

namespace verbline::net_ipoib {
namespace {

TEST(Arguments, ValuesWithCommasStandInBrackets) {
    const auto parsed = parse_arguments(
        "device=[memif:/run/"
        "a.sock,server,queues=4],sm=[ibsim:vl,host=H3],pkey=0x8001,mtu=4092,mac=02:00:00:00:00:07,hosts=64");
    ASSERT_TRUE(parsed) << parsed.error().what;
    const auto* memif = std::get_if<pmd::MemifSpec>(&*parsed->device);
    ASSERT_TRUE(memif);
    EXPECT_TRUE(memif->server);
    EXPECT_EQ(parsed->device_queues(), 4);
    EXPECT_EQ(parsed->sm, "ibsim:vl,host=H3");
    EXPECT_EQ(parsed->pkey, wire::PKey{0x8001});
    EXPECT_EQ(parsed->mtu, 4092u);
    EXPECT_EQ(parsed->mac->bytes[5], std::byte{7});
    EXPECT_EQ(parsed->hosts, 64u);
}

TEST(Arguments, Defaults) {
    const auto parsed = parse_arguments("device=eth:eth1,sm=umad:mlx5_0");
    ASSERT_TRUE(parsed) << parsed.error().what;
    EXPECT_EQ(parsed->device_queues(), 1) << "what a packet socket has";
    EXPECT_EQ(parsed->mtu, 2044u);
    EXPECT_EQ(parsed->pkey, wire::PKey{0xffff});
    EXPECT_FALSE(parsed->mac);
}

TEST(Arguments, AnAdapterIsADevice) {
    const auto parsed = parse_arguments("device=hca:mlx5_0/2,sm=[umad:mlx5_0,port=2]");
    ASSERT_TRUE(parsed) << parsed.error().what;
    EXPECT_TRUE(parsed->adapter());
    EXPECT_FALSE(parsed->roce);
    EXPECT_EQ(parsed->device_queues(), 1);
}

TEST(Arguments, RoceNeedsNoSubnetManager) {
    const auto parsed = parse_arguments("device=eth:eth1,link=roce_v2");
    ASSERT_TRUE(parsed) << parsed.error().what;
    EXPECT_TRUE(parsed->roce);
    EXPECT_EQ(parsed->mtu, 1020u);
    EXPECT_EQ(parse_arguments("mtu=2044,device=eth:eth1,link=roce_v2")->mtu, 2044u);
    EXPECT_TRUE(parse_arguments("device=memif:/a,link=roce_v2,mac=02:00:00:00:00:07"));
}

TEST(Arguments, ACarrierWithoutAWireNeedsNoSubnetManager) {
    const auto parsed = parse_arguments("device=null:1500");
    ASSERT_TRUE(parsed) << parsed.error().what;
    EXPECT_FALSE(parsed->device);
    EXPECT_EQ(parsed->null_packet, 1500u);
}

TEST(Arguments, WrongOnesSayWhatIsWrong) {
    const auto said = [](std::string_view text) {
        const auto parsed = parse_arguments(text);
        return parsed ? std::string("nothing") : parsed.error().what;
    };
    const auto begins = [&](std::string_view text, std::string_view with) {
        EXPECT_EQ(said(text).substr(0, with.size()), with);
    };
    begins("", "device= is missing");
    begins("device=memif:/a", "sm= is missing");
    begins("device=null,sm=umad:mlx5_0", "sm= has no use");
    begins("device=eth:eth1,link=roce_v2,sm=umad:mlx5_0", "sm= has no use with link=roce_v2");
    begins("device=null,link=roce_v2", "link=roce_v2 needs a device with a wire");
    begins("device=memif:/a,link=roce_v2", "mac= is missing");
    begins("device=memif:/a,link=ethernet", "link=ethernet is neither infiniband nor roce_v2");
    begins("device", "device has no value");
    begins("device=", "device has no value");
    begins("device=null,=1", "there is no argument ;");
    begins("device=null,colour=blue", "there is no argument colour");
    begins("device=null,pkey=blue", "pkey=blue is no P_Key");
    begins("device=null,mtu=4093", "mtu=4093 is no number from 68 to 4092");
    begins("device=null,mtu=2044x", "mtu=2044x is no number");
    begins("device=null,hosts=0", "hosts=0 is no number");
    begins("device=null,mac=01:00:5e:00:00:01", "mac=01:00:5e:00:00:01 is no address of an interface");
    begins("device=null:9", "device=null:=9 is no number");
    begins("device=dpdk:0000:03:00.0,sm=umad:x", "device=dpdk: would make another port");
    EXPECT_NE(said("device=disk:a,sm=umad:x"), "nothing");
    EXPECT_NE(said("device=memif:/a,sm=ibsim:vl"), "nothing") << "without a host";
    EXPECT_NE(said("device=[memif:/a,sm=umad:x"), "nothing") << "a bracket that is not closed";
}

}  // namespace
}  // namespace verbline::net_ipoib
