// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/interface_watch.h"

#include <algorithm>
#include <utility>

#include <linux/if_addr.h>

namespace verbline::host {
namespace {

using News = InterfaceWatch::News;

template <class Header>
const Header* body(nlmsghdr& message) {
    const bool enough = nlmsg_datalen(&message) >= static_cast<int>(sizeof(Header));
    return enough ? static_cast<const Header*>(nlmsg_data(&message)) : nullptr;
}

News news_of(nlmsghdr& message, unsigned ifindex) {
    switch (message.nlmsg_type) {
        case RTM_NEWADDR:
        case RTM_DELADDR: {
            const auto* address = body<ifaddrmsg>(message);
            return address != nullptr && address->ifa_index == ifindex ? News::changed : News::nothing;
        }
        case RTM_NEWLINK:
        case RTM_DELLINK: {
            const auto* link = body<ifinfomsg>(message);
            if (link == nullptr || link->ifi_index != static_cast<int>(ifindex)) return News::nothing;
            // A bridge that releases its port sends the same message with another family.
            const bool gone = message.nlmsg_type == RTM_DELLINK && link->ifi_family == AF_UNSPEC;
            return gone ? News::gone : News::changed;
        }
        default: return News::nothing;
    }
}

}  // namespace

Result<InterfaceWatch> InterfaceWatch::open(unsigned ifindex) {
    auto socket = NetlinkSocket::open("");
    if (!socket) return std::unexpected(socket.error());
    for (const auto group : {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR}) {
        if (auto done = socket->subscribe(group); !done) return std::unexpected(done.error());
    }
    return InterfaceWatch(std::move(*socket), ifindex);
}

Result<InterfaceWatch::News> InterfaceWatch::receive() {
    auto news = News::nothing;
    for (;;) {
        const auto outcome =
            socket_.receive([&](nlmsghdr& message) { news = std::max(news, news_of(message, ifindex_)); });
        if (!outcome) return std::unexpected(outcome.error());
        if (*outcome == NetlinkSocket::Outcome::nothing) return news;
        if (*outcome == NetlinkSocket::Outcome::lost) news = std::max(news, News::changed);
    }
}

}  // namespace verbline::host
