// SPDX-License-Identifier: BSD-3-Clause
// Paths to peers: of whom they are asked. On Ethernet the kernel, a node, or neighbours by ARP and ND; on a soft fabric
// its subnet administrator, for members of a node by that.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/rdma/port.h"
#include "apps/verbline/subnet/path_endpoint.h"
#include "apps/verbline/subnet/subnet_session.h"
#include "control/host/kernel_neighbour.h"
#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr Time resolution_patience = 5 * second, path_patience = 10 * second, ask_again = second;
constexpr Time kernel_slice = 100 * millisecond;  ///< in which the kernel's answer is awaited, and no signal seen
constexpr std::uint8_t hop_limit = 64;

bool is_link_local(const wire::Gid& gid) {
    return !link::ipv4_of(gid) && wire::is_link_local(link::ipv6_of(gid));
}

/// The kernel goes on with its resolution from one question to the next.
Result<wire::MacAddress> ask_kernel(unsigned ifindex, const wire::Gid& from, const wire::Gid& to,
                                    const std::atomic<bool>& stop) {
    const auto until = monotonic_now() + resolution_patience;
    for (;;) {
        auto mac = host::resolve_kernel_neighbour(ifindex, from, to, kernel_slice);
        const bool no_answer_yet = !mac && mac.error().code == ETIMEDOUT;
        if (!no_answer_yet || monotonic_now() >= until || stop.load(std::memory_order_relaxed)) return mac;
    }
}

}  // namespace

std::string text(const rdma::Path& path) {
    if (path.address.dgid != wire::Gid{}) return link::address_text(path.address.dgid);
    return "LID " + wire::to_string(path.address.dlid);
}

wire::Gid Port::address() const {
    for (const auto& address : link_.addresses)
        if (!is_link_local(address.gid)) return address.gid;
    return own_gid();
}

/// What `find` returns, unless that is nothing until then, or until `stop`.
template <class Find>
auto Port::poll_until(Time until, const std::atomic<bool>& stop, Find find) -> decltype(find(Time{})) {
    for (auto now = monotonic_now(); now < until && !stop.load(std::memory_order_relaxed); now = monotonic_now()) {
        if (auto found = find(now)) return found;
        poll(now);
    }
    return std::nullopt;
}

Result<PortPath> Port::path_to(const wire::Gid& peer, const std::atomic<bool>& stop) {
    auto path = infiniband() ? subnet_path_to(peer, stop) : roce_path_to(peer, stop);
    if (!path && stop.load(std::memory_order_relaxed)) return failure(ECANCELED, "interrupted");
    return path;
}

Result<PortPath> Port::roce_path_to(const wire::Gid& peer, const std::atomic<bool>& stop) {
    auto ours = own_gid();
    if (!is_link_local(peer)) {
        const bool ipv4 = link::ipv4_of(peer).has_value();
        auto chosen = std::ranges::find_if(link_.addresses, [&](const auto& each) { return contains(each, peer); });
        // By way of a router, which the kernel or the node knows.
        if (chosen == link_.addresses.end() && link_.neighbours == nullptr)
            chosen = std::ranges::find_if(link_.addresses, [&](const auto& each) {
                return link::ipv4_of(each.gid).has_value() == ipv4 && !is_link_local(each.gid);
            });
        if (chosen == link_.addresses.end())
            return failure(EHOSTUNREACH, fmt::format("{} has no address on the network of {}; give one with --ip",
                                                     text(), link::address_text(peer)));
        ours = chosen->gid;
    }
    const auto index = rdma_->gids().find(ours, roce_, {});
    if (!index) return failure(EADDRNOTAVAIL, fmt::format("{} has no such address of this version of RoCE", text()));
    auto mac = next_hop(ours, peer, stop);
    if (!mac) return std::unexpected(mac.error());
    return PortPath{.path = {.gid_index = static_cast<unsigned>(*index),
                             .address = {.global = true, .dgid = peer, .hop_limit = hop_limit},
                             .mac = *mac},
                    .mtu = max_mtu()};
}

Result<wire::MacAddress> Port::next_hop(const wire::Gid& from, const wire::Gid& to, const std::atomic<bool>& stop) {
    if (rdma_->gids().find(to, roce_, {})) return link_.mac;  // ourselves, or another member of the node
    if (const auto known = link::mac_of_link_local(to)) return *known;
    if (member()) return ask_node(from, to, stop);
    if (link_.neighbours == nullptr) return ask_kernel(link_.ifindex, from, to, stop);
    const auto found = poll_until(monotonic_now() + resolution_patience, stop, [&](Time) {
        auto mac = link_.neighbours->find(to);
        if (!mac && !link_.neighbours->resolving(to)) link_.neighbours->resolve(to);
        return mac;
    });
    if (found) return *found;
    return failure(EHOSTUNREACH,
                   fmt::format("no host on {} answers for {}; start the server first", text(), link::address_text(to)));
}

/// The node resolves, and does not keep its answer from others meanwhile: it is asked until it has one.
Result<wire::MacAddress> Port::ask_node(const wire::Gid& from, const wire::Gid& to, const std::atomic<bool>& stop) {
    Time next = 0;
    using Answer = Result<wire::MacAddress>;
    const auto answer = poll_until(monotonic_now() + resolution_patience, stop, [&](Time now) -> std::optional<Answer> {
        if (now < next) return std::nullopt;
        next = now + millisecond;
        auto mac = hub::resolve(link_.lane, from, to);
        return !mac && mac.error().code == EINPROGRESS ? std::nullopt : std::optional(std::move(mac));
    });
    if (answer) return *answer;
    return failure(ETIMEDOUT, fmt::format("{} has no next hop to {} yet", text(), link::address_text(to)));
}

Result<PortPath> Port::subnet_path_to(const wire::Gid& peer, const std::atomic<bool>& stop) {
    const auto record = member() ? ask_node_for_path(peer, stop) : ask_subnet_manager(peer, stop);
    if (!record) return std::unexpected(record.error());
    const auto index = rdma_->gids().find(own_gid(), link::GidType::ib, {});
    if (!index) return failure(EADDRNOTAVAIL, fmt::format("{} has no GID", text()));
    return PortPath{.path = {.gid_index = static_cast<unsigned>(*index), .address = sa::address_handle(*record)},
                    .mtu = std::min<std::uint32_t>(max_mtu(), wire::mtu_bytes(record->mtu))};
}

Result<wire::PathRecord> Port::ask_subnet_manager(const wire::Gid& to, const std::atomic<bool>& stop) const {
    const auto& place = link_.fabric_link;
    auto session = cli::SubnetSession::open(fmt::format("ibsim:{},host={}", place.fabric, place.host));
    if (!session) return failure(ENETDOWN, session.error().line);
    session->give_up_at(stop);
    sa::Client client(session->transport(), session->loop());
    const auto [query, components] = cli::path_query(own_gid(), to, pkey());
    const auto path = cli::await<wire::PathRecord>(
        *session, [&](sa::ReplyHandler<wire::PathRecord> reply) { client.path(query, components, std::move(reply)); });
    if (path) return *path;
    return failure(EHOSTUNREACH,
                   fmt::format("no path from {} to {}: {}", text(), wire::to_string(to), sa::describe(path.error())));
}

/// The node says it once; one that has been restarted meanwhile does not know that it was asked.
Result<wire::PathRecord> Port::ask_node_for_path(const wire::Gid& to, const std::atomic<bool>& stop) {
    const hub::FindPath question{.to = to, .pkey = pkey()};
    Time next = 0;
    const auto found =
        poll_until(monotonic_now() + path_patience, stop, [&](Time now) -> std::optional<hub::PathFound> {
            if (now >= next && hub::ask_subnet(link_.lane, question)) next = now + ask_again;
            for (const auto& path : hub::take_subnet_news(link_.lane).paths)
                if (path.to == question.to && path.pkey == question.pkey) return path;
            return std::nullopt;
        });
    if (found && found->code == 0) return found->path;
    return failure(found ? found->code : ETIMEDOUT,
                   fmt::format("{} knows no path to {}; is the server's port up, and a subnet manager running?", text(),
                               wire::to_string(to)));
}

}  // namespace verbline::rdma_bench
