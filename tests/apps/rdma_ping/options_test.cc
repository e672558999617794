// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/options.h"

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"

namespace verbline::rdma_ping {
namespace {

template <class... Words>
Result<std::optional<Options>> parse(Words... words) {
    const std::array argv{"rdma_ping", words...};
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(RdmaPingOptions, ServerOverMemif) {
    const auto options = parse("--device", "memif:/tmp/a.sock,server", "--ip", "10.0.0.1");
    ASSERT_TRUE(options && *options);
    EXPECT_EQ((*options)->server, "");
    EXPECT_EQ((*options)->device, pmd::DeviceSpec(pmd::MemifSpec{.path = "/tmp/a.sock", .server = true}));
    EXPECT_EQ((*options)->carrier, link::GidType::roce_v2);
    EXPECT_EQ((*options)->gid, link::gid_of(wire::ipv4(10, 0, 0, 1)));
    EXPECT_EQ(to_string((*options)->mac()), "02:00:0a:00:00:01");
    EXPECT_TRUE((*options)->eal.empty());
}

TEST(RdmaPingOptions, ClientWithEverything) {
    const auto options =
        parse("-m", "64", "--", "--device", "tap:p0", "--ip", "fd00::7", "--roce", "v1", "--size", "4096", "--count",
              "3", "--mtu", "4096", "--impair", "loss=0.5", "--capture", "f", "there");
    ASSERT_TRUE(options && *options);
    EXPECT_EQ((*options)->eal, (std::vector<std::string>{"-m", "64"}));
    EXPECT_EQ((*options)->server, "there");
    EXPECT_EQ((*options)->carrier, link::GidType::roce_v1);
    EXPECT_EQ(wire::to_string((*options)->gid), "fd00::7");
    EXPECT_EQ((*options)->size, 4096u);
    EXPECT_EQ((*options)->count, 3u);
    EXPECT_EQ((*options)->mtu, 4096u);
    ASSERT_TRUE((*options)->impair);
    EXPECT_EQ((*options)->impair->tx.loss, 0.5);
}

TEST(RdmaPingOptions, LidIsTheSoftFabric) {
    const auto options = parse("--device", "tap:p0", "--lid", "0x1234");
    ASSERT_TRUE(options && *options);
    EXPECT_EQ((*options)->carrier, link::GidType::ib);
    EXPECT_EQ((*options)->lid, wire::Lid{0x1234});
    EXPECT_EQ(to_string((*options)->mac()), "02:00:00:00:12:34");
    EXPECT_EQ((*options)->gid, link::link_local_gid((*options)->mac()));
}

TEST(RdmaPingOptions, RefusalsNameTheOption) {
    const auto refusal = [](auto... words) {
        const auto options = parse(words...);
        return options ? std::string("accepted") : options.error().what;
    };
    EXPECT_NE(refusal("--ip", "1.2.3.4").find("--device"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0").find("--lid"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--ip", "1.2.3.4", "--lid", "4").find("--lid"), std::string::npos);
    EXPECT_NE(refusal("--device", "disk:p0", "--ip", "1.2.3.4").find("disk:p0"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--ip", "1.2.3").find("1.2.3"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--ip", "::").find("::"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--ip", "ff02::1").find("ff02::1"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--lid", "0xc000").find("0xc000"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--lid", "4", "--size", "0").find("--size"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--lid", "4", "--mtu", "1500").find("--mtu"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--lid", "4", "--roce", "v3").find("--roce"), std::string::npos);
    EXPECT_NE(refusal("--device", "tap:p0", "--lid", "4", "--impair", "luck=1").find("luck"), std::string::npos);
}

}  // namespace
}  // namespace verbline::rdma_ping
