// SPDX-License-Identifier: BSD-3-Clause
#include "control/dhcp_relay/relay_service.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "pmd/tun/netns.h"

namespace verbline::dhcp {
namespace {

constexpr std::size_t longest_message = 9216;  ///< no link of ours carries more in one packet
constexpr unsigned burst = 32;                 ///< messages in a row: the control thread has other work

}  // namespace

template <class Relay>
RelayService<Relay>::RelayService(control::Loop& loop, Setup setup)
    : loop_(loop),
      setup_(std::move(setup)),
      relay_(setup_.ports),
      room_(longest_message),
      ports_(setup_.ports.size()) {}

template <class Relay>
Result<std::unique_ptr<RelayService<Relay>>> RelayService<Relay>::open(control::Loop& loop, Setup setup) {
    std::unique_ptr<RelayService> self(new RelayService(loop, std::move(setup)));
    for (std::size_t port = 0; port < self->ports_.size(); ++port) {
        auto prepared = self->prepare(port, self->setup_.ports[port].servers);
        if (!prepared) return std::unexpected(std::move(prepared.error()));
        self->use(std::move(*prepared));
    }
    return self;
}

template <class Relay>
Result<typename RelayService<Relay>::Prepared> RelayService<Relay>::prepare(std::size_t port,
                                                                            std::vector<Address> servers) {
    Prepared prepared{.port = port, .servers = std::move(servers), .link = {}};
    if (prepared.servers.empty() || ports_[port].link.socket) return prepared;
    auto opened = open_link(port);
    if (!opened) return std::unexpected(std::move(opened.error()));
    prepared.link = std::move(*opened);
    return prepared;
}

template <class Relay>
void RelayService<Relay>::use(Prepared prepared) {
    auto& port = ports_[prepared.port];
    if (prepared.servers.empty()) {
        set_addresses(prepared.port, {});  // nothing that comes to them is ours any more
        replace(port.link, {});
    } else if (prepared.link.socket) {
        replace(port.link, std::move(prepared.link));
    }
    relay_.set_servers(prepared.port, std::move(prepared.servers));
}

template <class Relay>
Result<typename RelayService<Relay>::End> RelayService<Relay>::open_link(std::size_t port) {
    const auto inside = pmd::NetnsGuard::enter(setup_.netns);
    if (!inside) return std::unexpected(inside.error());
    auto socket = RelaySocket<Address>::on_interface(setup_.ports[port].name);
    if (!socket) return std::unexpected(std::move(socket.error()));
    return watch(port, Side::link, std::move(*socket));
}

template <class Relay>
Result<typename RelayService<Relay>::End> RelayService<Relay>::open_network(std::size_t port, const Address& address) {
    const auto inside = pmd::NetnsGuard::enter(setup_.netns);
    if (!inside) return std::unexpected(inside.error());
    auto socket = RelaySocket<Address>::at_address(address);
    if (!socket) return std::unexpected(std::move(socket.error()));
    return watch(port, Side::network, std::move(*socket));
}

template <class Relay>
Result<typename RelayService<Relay>::End> RelayService<Relay>::watch(std::size_t port, Side side,
                                                                     RelaySocket<Address> socket) {
    auto watch = loop_.watch(socket.fd(), [this, port, side](std::uint32_t) { receive(port, side); });
    if (!watch) return std::unexpected(std::move(watch.error()));
    return End{std::move(socket), std::move(*watch)};
}

template <class Relay>
void RelayService<Relay>::replace(End& end, End by) {
    end.watch.cancel();  // before the descriptor that it watches is closed
    end = std::move(by);
}

template <class Relay>
void RelayService<Relay>::set_addresses(std::size_t port, const std::vector<Address>& addresses) {
    if (!serves(port)) return;
    relay_.set_addresses(port, addresses);
    auto& mine = ports_[port];
    if (addresses.empty()) {
        replace(mine.network, {});
        mine.address = {};
        return;
    }
    if (addresses.front() == mine.address && mine.network.socket) return;
    auto opened = open_network(port, addresses.front());
    if (!opened) {
        relay_.set_addresses(port, {});
        setup_.on_trouble(fmt::format("{}: {}", setup_.ports[port].name, opened.error().what));
        return;
    }
    replace(mine.network, std::move(*opened));
    mine.address = addresses.front();
}

template <class Relay>
void RelayService<Relay>::receive(std::size_t port, Side side) {
    for (unsigned i = 0; i < burst; ++i) {
        const auto datagram = end(port, side).socket.receive(room_);
        if (!datagram) return;
        for (const auto& each : relay_.received({port, side, datagram->source, datagram->message})) send(each);
    }
}

template <class Relay>
void RelayService<Relay>::send(const dhcp::Send<Address>& datagram) {
    auto& socket = end(datagram.port, datagram.side).socket;
    if (!socket || !socket.send(datagram.destination, datagram.destination_port, datagram.message))
        relay_.not_sent(datagram);
}

template class RelayService<Ipv4Relay>;
template class RelayService<Ipv6Relay>;

}  // namespace verbline::dhcp
