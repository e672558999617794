// SPDX-License-Identifier: BSD-3-Clause
// SoftwareRss while each of the calls by which it is made and sleeps fails once: there is none, with the reason, or it
// works, and whoever cannot be woken polls.
#include "tests/support/faults.h"

#include <memory>
#include <utility>

#include <poll.h>

#include <gtest/gtest.h>

#include "pmd/rss/software_rss.h"
#include "tests/pmd/rss/devices.h"

namespace verbline::pmd::faults {
namespace {

using test::Outcome, test::QueuedDevice, test::WithoutFaults;

TEST(SoftwareRssFaults, CreateFailsOrDeviceWorks) {
    const test::MarkHash flows;
    test::expect_survives_faults("software RSS", [&]() -> Outcome {
        std::unique_ptr<QueuedDevice> inside;
        SoftwareRssOptions options;
        {
            const WithoutFaults making;
            inside = std::make_unique<QueuedDevice>(1, 1);
            inside->queues[0].sent.reserve(1);
            options = test::options_of(flows, 3, {0});
        }
        auto& queue = inside->queues[0];
        auto made = SoftwareRss::create(std::move(inside), std::move(options));
        if (!made) return made.error();
        auto& device = **made;

        device.want_rx_event(0, true);
        device.want_rx_event(1, true);
        {
            const WithoutFaults arriving;
            queue.to_receive.push_back(test::marked(1));
            queue.event.signal();
        }
        if (const int event = device.rx_event(0); event >= 0) {
            const WithoutFaults looking;
            pollfd one{.fd = event, .events = POLLIN, .revents = 0};
            EXPECT_EQ(poll(&one, 1, 0), 1) << "who sleeps would not be woken";
        }
        device.want_rx_event(0, false);
        std::array<rte_mbuf*, 8> burst;
        EXPECT_EQ(device.rx_burst(0, burst), 0);
        EXPECT_EQ(device.rx_burst(1, burst), 1);
        EXPECT_EQ(device.tx_burst(1, std::span(burst).first(1)), 1);
        device.want_rx_event(1, false);
        device.tx_burst(0, {});

        const WithoutFaults looking;
        EXPECT_EQ(queue.sent.size(), 1u);
        queue.sent.clear();
        return {};
    });
}

}  // namespace
}  // namespace verbline::pmd::faults
