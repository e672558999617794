// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/record_view.h"

#include <gtest/gtest.h>

#include "apps/verbline/subnet/path_endpoint.h"

namespace verbline::cli {
namespace {

TEST(RecordView, DecodesLifetimes) {
    EXPECT_DOUBLE_EQ(lifetime_ms(0), 0.004'096);
    EXPECT_NEAR(lifetime_ms(18), 1'073.742, 0.001);
}

TEST(RecordView, NamesEveryJoinState) {
    EXPECT_EQ(join_state_text(0), "-");
    EXPECT_EQ(join_state_text(1), "full");
    EXPECT_EQ(join_state_text(5), "full,send-only");
    EXPECT_EQ(join_state_text(15), "full,non-member,send-only,send-only-full");
}

TEST(RecordView, ShowsAPathAsOpenSmAnswersIt) {
    const wire::PathRecord path{.destination_lid = wire::Lid{4},
                                .source_lid = wire::Lid{3},
                                .reversible = true,
                                .pkey = wire::PKey{0xffff},
                                .mtu = wire::IbMtu::bytes_2048,
                                .rate = 3,
                                .lifetime = 18};
    EXPECT_EQ(path_row(path).dump(), R"({"source_lid":3,"destination_lid":4,"source_gid":"::","destination_gid":"::",)"
                                     R"("pkey":"0xffff","sl":0,"mtu":2048,"rate_gbps":10,"lifetime_ms":1073.742,)"
                                     R"("hop_limit":0,"traffic_class":0,"flow_label":0,"reversible":true})");
}

constexpr std::uint64_t prefix = wire::default_subnet_prefix;

TEST(PathEndpoint, IsALidAGuidOrAGid) {
    EXPECT_EQ(parse_endpoint("4", prefix).value(), PathEndpoint(wire::Lid{4}));
    EXPECT_EQ(parse_endpoint("0xbfff", prefix).value(), PathEndpoint(wire::Lid{0xbfff}));
    const PathEndpoint port = wire::Gid::of(prefix, wire::Guid{0x0002'c903'0000'0001});
    EXPECT_EQ(parse_endpoint("0x0002c90300000001", prefix).value(), port);
    EXPECT_EQ(parse_endpoint("fe80::2:c903:0:1", prefix).value(), port);
    EXPECT_EQ(parse_endpoint("0x100004", prefix).value(), PathEndpoint(wire::Gid::of(prefix, wire::Guid{0x10'0004})));
}

TEST(PathEndpoint, RefusesEverythingElse) {
    for (const auto* bad : {"", "0", "0xc000", "65535", "x", "fe80::g", "10.1.0.1", "0x1ffffffffffffffff"})
        EXPECT_FALSE(parse_endpoint(bad, prefix)) << bad;
}

TEST(PathQuery, NamesWhatIsMeant) {
    namespace component = wire::path_component;
    const auto gid = wire::Gid::of(prefix, wire::Guid{7});
    const auto [query, mask] = path_query(wire::Lid{3}, gid, wire::PKey{0x8001});
    EXPECT_EQ(query.source_lid, wire::Lid{3});
    EXPECT_EQ(query.destination_gid, gid);
    EXPECT_EQ(query.pkey, wire::PKey{0x8001});
    EXPECT_EQ(mask, component::source_lid | component::destination_gid | component::pkey);
    EXPECT_EQ(path_query(gid, wire::Lid{3}, wire::PKey{1}).second,
              component::source_gid | component::destination_lid | component::pkey);
}

}  // namespace
}  // namespace verbline::cli
