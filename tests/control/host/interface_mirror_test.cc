// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/interface_mirror.h"

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"

namespace verbline::host {
namespace {

constexpr int mirrored = 3;
constexpr forward::InterfaceId mirrored_id{5};
constexpr link::InterfaceAddress first_address{link::gid_of(wire::ipv4(10, 1, 0, 1)), 24},
    second_address{link::gid_of(wire::ipv4(10, 1, 0, 2)), 24};

struct MirroredInterface : testing::Test {
    InterfaceMirror mirror;

    MirroredInterface() {
        mirror.attach(mirrored, mirrored_id);
        mirror.received(LinkChanged{{.ifindex = mirrored, .name = "mirrored", .up = true, .mtu = 1500}});
        mirror.received(AddressAdded{mirrored, first_address});
    }
};

TEST_F(MirroredInterface, TellsEverythingAtOnceWhenItIsKnown) {
    const auto actions = mirror.received(Synced{});
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_EQ(actions[0].interface, mirrored_id);
    EXPECT_EQ(actions[0].state, (InterfaceState{true, 1500, {first_address}}));
    EXPECT_TRUE(mirror.received(AddressAdded{mirrored, first_address}).empty()) << "nothing new";
    EXPECT_TRUE(mirror.received(AddressAdded{mirrored + 1, second_address}).empty()) << "not ours";
}

TEST_F(MirroredInterface, TellsEachChange) {
    mirror.received(Synced{});
    EXPECT_EQ(mirror.received(AddressAdded{mirrored, second_address})[0].state.addresses,
              (std::vector{first_address, second_address}));
    EXPECT_EQ(mirror.received(AddressRemoved{mirrored, first_address})[0].state.addresses,
              (std::vector{second_address}));
    EXPECT_EQ(mirror.received(LinkChanged{{.ifindex = mirrored, .up = true, .mtu = 1400}})[0].state.mtu, 1400u);
    EXPECT_FALSE(mirror.received(LinkRemoved{mirrored})[0].state.up);
}

/// As the kernel does it for an address that was added with `nodad`, which a fail-over daemon is sure of.
TEST_F(MirroredInterface, TellsWhichAddressesAreCertain) {
    mirror.received(Synced{});
    const auto added = mirror.received(AddressAdded{mirrored, second_address, true});
    ASSERT_EQ(added.size(), 1u);
    EXPECT_EQ(added[0].state.certain, std::vector{second_address.gid});
    EXPECT_TRUE(mirror.received(AddressRemoved{mirrored, second_address})[0].state.certain.empty());
}

TEST_F(MirroredInterface, TellsOnlyTheDifferenceAfterAResync) {
    mirror.received(Synced{});
    EXPECT_TRUE(mirror.received(Resync{}).empty());
    EXPECT_TRUE(mirror.received(LinkChanged{{.ifindex = mirrored, .up = true, .mtu = 1500}}).empty());
    EXPECT_TRUE(mirror.received(AddressAdded{mirrored, first_address}).empty());
    EXPECT_TRUE(mirror.received(Synced{}).empty()) << "it is as it was";
    mirror.received(Resync{});
    mirror.received(LinkChanged{{.ifindex = mirrored, .up = true, .mtu = 1500}});
    const auto actions = mirror.received(Synced{});
    ASSERT_EQ(actions.size(), 1u);
    EXPECT_TRUE(actions[0].state.addresses.empty());
}

TEST_F(MirroredInterface, TellsAnInterfaceThatIsAttachedLater) {
    mirror.received(LinkChanged{{.ifindex = 8, .up = true, .mtu = 9000}});
    mirror.received(Synced{});
    ASSERT_EQ(mirror.attach(8, forward::InterfaceId{6}).size(), 1u);
    mirror.detach(8);
    EXPECT_TRUE(mirror.received(LinkRemoved{8}).empty());
}

}  // namespace
}  // namespace verbline::host
