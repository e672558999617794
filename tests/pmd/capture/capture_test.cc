// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/capture/capture.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/decorator.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::FakeNetDevice;
using test::make_packet;

constexpr Time noon = 1'700'000'000'123'456'789;

/// What tshark prints; its standard error (complaints about the file) included.
std::string tshark(const std::string& path, const std::string& arguments) {
    const auto line = "tshark -n -r " + path + " " + arguments + " 2>&1 | grep -v 'Running as user'";
    std::string output;
    auto* pipe = popen(line.c_str(), "r");
    for (std::array<char, 256> piece; std::fgets(piece.data(), piece.size(), pipe) != nullptr;) output += piece.data();
    pclose(pipe);
    return output;
}

#define SKIP_WITHOUT_TSHARK() \
    if (std::system("tshark --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs tshark"

struct Capture : ::testing::Test {
    Capture() : path(std::filesystem::temp_directory_path() / ("verbline-" + std::to_string(getpid()) + ".pcapng")) {
        file = CaptureFile::create(path).value();
    }
    ~Capture() override { std::filesystem::remove(path); }

    std::unique_ptr<CapturedDevice> device(const char* name, Carries carries = Carries::ethernet) {
        auto fake = std::make_unique<FakeNetDevice>();
        inner = fake.get();
        inner->capabilities().carries = carries;
        return std::make_unique<CapturedDevice>(std::move(fake), name, *file, [this] { return now; });
    }
    static bool send(NetDevice& device, test::Packet packet) {
        auto* raw = packet.release();
        if (device.tx_burst(0, std::span(&raw, 1)) == 1) return true;
        rte_pktmbuf_free(raw);
        return false;
    }
    static void receive(NetDevice& device) {
        std::array<rte_mbuf*, max_burst> burst;
        rte_pktmbuf_free_bulk(burst.data(), device.rx_burst(0, burst));
    }

    std::string path;
    Time now = noon;
    std::unique_ptr<CaptureFile> file;
    FakeNetDevice* inner = nullptr;
};

/// An ARP request, as long as Ethernet wants it.
test::ByteVector arp() {
    auto bytes = test::bytes_from(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6,  //
                                  0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2);
    bytes.resize(60);
    return bytes;
}
/// UD SEND_ONLY from LID 1 to LID 2 in a frame of the soft fabric; its payload is 8 bytes.
test::ByteVector infiniband() {
    return test::bytes_from(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5,               // Ethernet
                            0, 2, 0, 2, 0, 9, 0, 1,                                       // LRH: LNH 2, 9 words
                            0x64, 0, 0xff, 0xff, 0, 0, 0, 0x48, 0, 0, 0, 7,               // BTH
                            0, 0, 0x0b, 0x1b, 0, 0, 0, 0x49,                              // DETH
                            1, 2, 3, 4, 5, 6, 7, 8, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff);  // payload, ICRC, VCRC
}
test::ByteVector icmp() {
    return test::bytes_from(0x45, 0, 0, 28, 0, 1, 0, 0, 64, 1, 0x66, 0xde, 10, 0, 0, 1, 10, 0, 0, 2,  //
                            8, 0, 0xf7, 0xfd, 0, 1, 0, 1);
}

TEST_F(Capture, TsharkReadsEveryKindWithItsDirectionAndTime) {
    SKIP_WITHOUT_TSHARK();
    {
        const auto lan = device("lan");
        ASSERT_TRUE(send(*lan, make_packet(arp())));
        const auto ib = device("ib0");
        inner->receive(infiniband());
        now += 1000;
        receive(*ib);
        const auto tun = device("tun0", Carries::ip);
        ASSERT_TRUE(send(*tun, make_packet(icmp(), 5)));
        EXPECT_EQ(file->drain(), 3u);
    }
    const auto fields =
        "-T fields -E separator=/s -e frame.interface_name -e frame.protocols -e frame.time_epoch "
        "-e frame.packet_flags_direction -e frame.len";
    EXPECT_EQ(tshark(path, fields),
              "lan eth:ethertype:arp 1700000000.123456789 0x00000002 60\n"
              "ib0 erf:infiniband:data 1700000000.123457789 0x00000001 42\n"
              "tun0 raw:ip:icmp 1700000000.123457789 0x00000002 28\n");
    EXPECT_EQ(tshark(path, "-T fields -e infiniband.lrh.slid -e infiniband.bth.destqp -Y infiniband"), "1\t0x000048\n");
    EXPECT_EQ(tshark(path, "-Y _ws.malformed"), "");
}

TEST_F(Capture, ForwardsEveryOperation) {
    test::expect_forwards_everything([this](std::unique_ptr<NetDevice> wrapped) {
        return std::make_unique<CapturedDevice>(std::move(wrapped), "wrapped", *file, [this] { return now; });
    });
}

TEST_F(Capture, OneDeviceMayCarryBothFrameTypes) {
    SKIP_WITHOUT_TSHARK();
    const auto ib = device("ib0");
    ASSERT_TRUE(send(*ib, make_packet(infiniband())));
    ASSERT_TRUE(send(*ib, make_packet(arp())));
    ASSERT_TRUE(send(*ib, make_packet(infiniband())));
    ASSERT_EQ(file->drain(), 3u);
    EXPECT_EQ(tshark(path, "-T fields -e frame.protocols -e frame.interface_name"),
              "erf:infiniband:data\tib0\neth:ethertype:arp\tib0\nerf:infiniband:data\tib0\n");
}

TEST_F(Capture, OnlyWhatWasAcceptedCountsAsSent) {
    SKIP_WITHOUT_TSHARK();
    const auto lan = device("lan");
    inner->tx_room = 2;
    std::array<rte_mbuf*, 5> burst;
    for (std::size_t i = 0; i < burst.size(); ++i) {
        auto frame = arp();
        frame.resize(100 + i);
        burst[i] = make_packet(frame).release();
    }
    ASSERT_EQ(lan->tx_burst(0, burst), 2);
    rte_pktmbuf_free_bulk(burst.data() + 2, 3);
    EXPECT_EQ(file->drain(), 2u);
    EXPECT_EQ(tshark(path, "-T fields -e frame.len"), "100\n101\n");
    EXPECT_EQ(test::counter(*lan, "captured"), 2u);
    EXPECT_EQ(test::counter(*lan, "fake_counter"), 1u);
}

TEST_F(Capture, AnotherDecoratorTakesItsPlace) {
    SKIP_WITHOUT_TSHARK();
    const auto shared = std::make_shared<FakeNetDevice>();
    CapturedDevice before(shared, "lan", *file, [this] { return now; });
    ASSERT_TRUE(send(before, make_packet(arp())));
    CapturedDevice after(shared, before);
    ASSERT_TRUE(send(after, make_packet(arp())));
    EXPECT_EQ(test::counter(after, "captured"), 2u) << "with those before";
    ASSERT_EQ(file->drain(), 2u);
    EXPECT_EQ(tshark(path, "-T fields -e frame.interface_id -e frame.interface_name"), "0\tlan\n0\tlan\n");
}

TEST_F(Capture, LargePacketsAreWhole) {
    SKIP_WITHOUT_TSHARK();
    const auto lan = device("lan");
    auto frame = test::pattern(60'001);
    std::ranges::copy(arp(), frame.begin());
    ASSERT_TRUE(send(*lan, make_packet(frame)));
    EXPECT_EQ(test::bytes_of(inner->sent[0]), frame) << "and the original is left alone";
    ASSERT_EQ(file->drain(), 1u);
    EXPECT_EQ(tshark(path, "-T fields -e frame.len -e frame.cap_len"), "60001\t60001\n");
}

TEST_F(Capture, OverflowIsCountedAndTrafficGoesOn) {
    const auto lan = device("lan");
    for (unsigned i = 0; i < CaptureFile::ring_size + 100; ++i) {
        ASSERT_TRUE(send(*lan, make_packet(arp())));
        inner->sent.clear();
    }
    EXPECT_EQ(test::counter(*lan, "captured") + test::counter(*lan, "capture_dropped"), CaptureFile::ring_size + 100u);
    EXPECT_GE(test::counter(*lan, "capture_dropped"), 100u);
    EXPECT_EQ(file->drain(), test::counter(*lan, "captured"));
    ASSERT_TRUE(send(*lan, make_packet(arp())));
    EXPECT_EQ(file->drain(), 1u);
}

TEST_F(Capture, OthersMayWriteBesideDevices) {
    SKIP_WITHOUT_TSHARK();
    auto& writer = file->writer();
    const auto mads = writer.add_interface("ib0 MADs", pcapng::LinkType::infiniband);
    const auto packet = infiniband();
    writer.write(mads, pcapng::Direction::outbound, noon, std::span(packet).subspan(14));
    ASSERT_TRUE(writer.flush());
    EXPECT_EQ(tshark(path, "-T fields -e frame.interface_name -e infiniband.deth.srcqp"), "ib0 MADs\t0x00000049\n");
}

TEST_F(Capture, WhatIsWaitingIsWrittenAtTheEnd) {
    SKIP_WITHOUT_TSHARK();
    {
        const auto lan = device("lan");
        ASSERT_TRUE(send(*lan, make_packet(arp())));
    }
    file.reset();
    EXPECT_EQ(tshark(path, "-T fields -e frame.len"), "60\n");
}

TEST(CaptureErrors, AreOneLineEach) {
    EXPECT_EQ(CaptureFile::create("/nowhere/x.pcapng").error().what,
              "cannot create capture file /nowhere/x.pcapng: No such file or directory");
    const auto full = CaptureFile::create("/dev/full");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().what,
              "cannot write to capture file /dev/full: No space left on device; the capture ends there");
}

}  // namespace
}  // namespace verbline::pmd
