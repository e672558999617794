// SPDX-License-Identifier: BSD-3-Clause
// A capture while calls fail and disks fill: traffic goes on, and the error is told.
#include "tests/support/faults.h"

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/capture/capture.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using test::Outcome, test::WithoutFaults;

TEST(CaptureFaults, TrafficGoesOnWithoutTheCapture) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("verbline-faults-" + std::to_string(getpid()) + ".pcapng");
    const auto tally = test::expect_survives_faults("capture", [&]() -> Outcome {
        auto file = CaptureFile::create(path);
        if (!file) return file.error();
        auto fake = [] {
            const WithoutFaults making;
            return std::make_unique<test::FakeNetDevice>();
        }();
        auto& inner = *fake;
        CapturedDevice device(std::move(fake), "port", **file, [] { return Time{1}; });
        rte_mbuf* packet;
        {
            const WithoutFaults making;
            packet = test::make_packet(test::pattern(60)).release();
            inner.receive(test::pattern(60));
        }
        EXPECT_EQ(device.tx_burst(0, std::span(&packet, 1)), 1);
        std::array<rte_mbuf*, 4> burst;
        EXPECT_EQ(device.rx_burst(0, burst), 1);
        rte_pktmbuf_free(burst[0]);
        const auto written = (*file)->drain();
        const WithoutFaults looking;
        EXPECT_EQ(test::counter(device, "captured") + test::counter(device, "capture_dropped"), 2u);
        inner.sent.clear();
        if (!written) return written.error();
        return {};
    });
    EXPECT_GE(tally.errors, 5u);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace verbline::pmd
