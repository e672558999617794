// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/link_check.h"

#include <cstring>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/base/file_descriptor.h"
#include "tests/apps/verbline/scratch.h"
#include "tests/support/namespace.h"

namespace verbline::verbs {
namespace {

using testing::HasSubstr;

std::string verdict(const std::string& link, const std::string& address = {}) {
    std::vector<InterfaceAddress> addresses;
    if (!address.empty()) addresses.push_back(parse_address(address).value());
    const auto good = check_local_link(parse_link(link).value(), addresses);
    return good ? "good" : good.error().what;
}

/// What a child without rights finds.
std::string verdict_of_nobody(const std::string& link) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const auto child = fork();
    if (child == 0) {
        const bool changed = setgid(65534) == 0 && setuid(65534) == 0;
        const auto text = changed ? verdict(link) : "cannot change the user";
        _exit(write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    close(ends[1]);
    std::array<char, 512> text{};
    const FileDescriptor out(ends[0]);
    const auto length = read(out.get(), text.data(), text.size() - 1);
    waitpid(child, nullptr, 0);
    return length > 0 ? text.data() : "nothing";
}

FileDescriptor serve(const std::string& path) {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket.get(), 1), 0);
    return socket;
}

TEST(MemifLink, NeedsADirectory) {
    EXPECT_THAT(verdict("memif:/no/such/place/a.sock"), HasSubstr("there is no directory /no/such/place; make it"));
    EXPECT_THAT(verdict("memif:/" + std::string(120, 'a')), HasSubstr("at most 107 bytes"));
}

TEST(MemifLink, IsNotWhereOthersCouldReplaceIt) {
    const cli::Scratch scratch;
    const auto link = "memif:" + (scratch.path() / "a.sock").string();
    ASSERT_EQ(chmod(scratch.path().c_str(), 0777), 0);
    for (const auto* role : {"", ",server"}) {
        EXPECT_THAT(verdict(link + role), HasSubstr(scratch.path().string() + " may be written to by anyone"));
        EXPECT_THAT(verdict(link + role), HasSubstr("owner=UID"));
    }
    ASSERT_EQ(chmod(scratch.path().c_str(), 01777), 0);
    EXPECT_EQ(verdict(link + ",server"), "good");
}

TEST(MemifLink, HasNoBlanks) {
    EXPECT_THAT(check_local_link(pmd::MemifSpec{.path = "/tmp/a b/c.sock"}, {}).error().what, HasSubstr("no blanks"));
}

TEST(MemifLink, MayHaveNoServerYet) {
    const cli::Scratch scratch;
    const auto path = (scratch.path() / "a.sock").string();
    EXPECT_EQ(verdict("memif:" + path), "good");
    EXPECT_EQ(verdict("memif:" + path + ",server"), "good");
}

TEST(MemifLink, IsServedByOneProcess) {
    const cli::Scratch scratch;
    const auto path = (scratch.path() / "a.sock").string();
    {
        const auto server = serve(path);
        EXPECT_THAT(verdict("memif:" + path + ",server"), HasSubstr("another process serves this socket"));
        EXPECT_EQ(verdict("memif:" + path), "good");
    }
    EXPECT_EQ(verdict("memif:" + path + ",server"), "good") << "its server is gone";
}

TEST(MemifLink, IsServedWhereOneMayWrite) {
    SKIP_UNLESS_ROOT();
    const cli::Scratch scratch;
    chmod(scratch.path().c_str(), 0755);
    const auto link = "memif:" + (scratch.path() / "a.sock").string();
    EXPECT_THAT(verdict_of_nobody(link + ",server"), HasSubstr("you may not write to"));
    EXPECT_EQ(verdict_of_nobody(link), "good");
}

TEST(EthernetLink, NeedsAnInterfaceThatIsUp) {
    SKIP_UNLESS_ROOT();
    const test::Namespace place;
    place.run("ip link add one type veth peer name two");
    place.enter([] {
        EXPECT_THAT(verdict("eth:none"), HasSubstr("there is no interface none; `ip link`"));
        EXPECT_THAT(verdict("eth:one"), HasSubstr("interface one is down; `ip link set one up`"));
        EXPECT_THAT(verdict("eth:lo"), HasSubstr("lo is not an Ethernet interface"));
    });
    place.run("ip link set one up");
    place.enter([] { EXPECT_EQ(verdict("dpdk:net_af_packet0,iface=one"), "good"); });
    place.enter([] { EXPECT_EQ(verdict("eth:one"), "good"); });
}

TEST(EthernetLink, NeedsAddressesThatTheKernelHasNot) {
    SKIP_UNLESS_ROOT();
    const test::Namespace place;
    place.run("ip link add one type veth peer name two");
    place.run("ip link set one up");
    place.run("ip address add 10.9.0.1/24 dev two");
    place.run("ip address add fd00::1/64 dev two");
    place.enter([] {
        EXPECT_THAT(verdict("eth:one", "10.9.0.1/24"), HasSubstr("10.9.0.1/24 is this host's own, on two"));
        EXPECT_THAT(verdict("eth:one", "fd00::1/64"), HasSubstr("fd00::1/64 is this host's own, on two"));
        EXPECT_EQ(verdict("eth:one", "10.9.0.2/24"), "good");
    });
}

TEST(EthernetLink, IsForRoot) {
    SKIP_UNLESS_ROOT();
    const test::Namespace place;
    place.run("ip link add one type veth peer name two");
    place.run("ip link set one up");
    place.enter([] { EXPECT_THAT(verdict_of_nobody("eth:one"), HasSubstr("run as root or with CAP_NET_RAW")); });
}

TEST(TapLink, NeedsAFreeNameAndItsNamespace) {
    SKIP_UNLESS_ROOT();
    EXPECT_THAT(verdict("tap:lo"), HasSubstr("interface lo exists and is no tap"));
    EXPECT_THAT(verdict("tap:t0,netns=nowhere"), HasSubstr("there is no network namespace nowhere"));
    EXPECT_EQ(verdict("tap:verbline-t0"), "good");
    EXPECT_THAT(verdict_of_nobody("tap:verbline-t0"), HasSubstr("root"));
}

TEST(DpdkLink, NeedsItsInterface) {
    EXPECT_THAT(verdict("dpdk:net_af_packet0"), HasSubstr("names no interface"));
    EXPECT_THAT(verdict("dpdk:net_af_packet0,qpairs=1,iface=nothing0"), HasSubstr("there is no interface nothing0"));
}

TEST(Links, KnowWhetherTheyNeedRights) {
    for (const auto* link : {"eth:a", "tap:a", "dpdk:net_null0"})
        EXPECT_TRUE(needs_privilege(*parse_link(link))) << link;
    for (const auto* link : {"hub:a", "memif:/a", "ib:a@b", "dpdk:net_virtio_user0,path=/a"})
        EXPECT_FALSE(needs_privilege(*parse_link(link))) << link;
}

}  // namespace
}  // namespace verbline::verbs
