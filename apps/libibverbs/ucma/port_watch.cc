// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/port_watch.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "control/host/kernel_neighbour.h"
#include "datapath/link/gid_table.h"

namespace verbline::verbs {
namespace {

using host::InterfaceWatch;

/// The addresses that the kernel no longer has. All, if the MAC address has changed: every packet carries the old one.
std::vector<wire::Gid> missing_of(const OpenedLink& link, const host::InterfaceAddresses& now) {
    std::vector<wire::Gid> missing;
    const auto in = [](const auto& list, const wire::Gid& gid) {
        return std::ranges::find(list, gid, &link::InterfaceAddress::gid) != list.end();
    };
    for (const auto& [gid, length, pkey] : link.addresses) {
        // The default GID is the port's, whether the interface has the address or not.
        const bool there = gid == link::link_local_gid(link.mac) || in(now.addresses, gid) || in(now.unsure, gid);
        if (!there || now.mac != link.mac) missing.push_back(gid);
    }
    return missing;
}

/// What the port is to have: also what it has and the kernel is not sure of at present.
std::vector<InterfaceAddress> present_of(const OpenedLink& link, const host::InterfaceAddresses& now) {
    auto present = now.addresses;
    for (const auto& address : now.unsure) {
        if (std::ranges::find(link.addresses, address) != link.addresses.end()) present.push_back(address);
    }
    return present;
}

}  // namespace

Result<std::unique_ptr<PortWatch>> PortWatch::open(const OpenedLink& link, control::Loop& loop, Handler handler) {
    std::unique_ptr<PortWatch> made(new PortWatch(link, std::move(handler)));
    Result<void> watching;
    if (!link.interface.empty()) watching = made->watch_interface(loop);
    if (!watching) return std::unexpected(watching.error());
    return made;
}

Result<void> PortWatch::watch_interface(control::Loop& loop) {
    auto interface = InterfaceWatch::open(link_.ifindex);
    if (!interface) return std::unexpected(interface.error());
    interface_.emplace(std::move(*interface));
    auto watch = loop.watch(interface_->fd(), [this](std::uint32_t) {
        const auto news = interface_->receive();
        if (news && *news == InterfaceWatch::News::nothing) return;
        if (news && *news == InterfaceWatch::News::changed) return look();
        end(news ? Error{ENODEV, fmt::format("the interface {} is gone; end the program, and start it again when it is "
                                             "back",
                                             link_.interface)}
                 : news.error());
    });
    if (!watch) return std::unexpected(watch.error());
    watch_ = std::move(*watch);
    return {};
}

void PortWatch::look() {
    const auto now = host::kernel_addresses(link_.interface);
    if (!now) return;  // interface removed, which is reported separately; or busy: retry at the next change
    if (link_.neighbours != nullptr) return;  // with addresses set by the user, the kernel's are irrelevant
    auto missing = missing_of(link_, *now);
    auto present = present_of(link_, *now);
    if (missing == missing_ && present == present_) return;
    missing_ = std::move(missing);
    present_ = std::move(present);
    handler_({.missing = missing_, .present = present_});
}

void PortWatch::end(Error why) {
    const auto over = std::exchange(watch_, {});
    missing_.clear();
    for (const auto& address : link_.addresses) missing_.push_back(address.gid);
    handler_({.missing = missing_, .gone = std::move(why)});
}

}  // namespace verbline::verbs
