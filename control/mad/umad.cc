// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/umad.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <endian.h>
#include <infiniband/umad.h>

#include <fmt/format.h>

#include "datapath/wire/sa.h"

namespace verbline::mad {

namespace {

constexpr unsigned max_reads = 256;        // MADs taken from the port before others have their turn
constexpr Time poll_period = millisecond;  // where the descriptor cannot be watched
constexpr int smp_patience_ms = 200;
constexpr std::uint16_t mtu_without_smps = 2048;
constexpr std::size_t smp_dr_lids_at =
    32;  // DrSLID and DrDLID, permissive: the whole route is directed (IBTA 14.2.1.2)

/// libibumad would print its own message on stderr.
bool kernel_has_umad() {
    // opendir, since ibsim's preload library feigns that and not every other call.
    DIR* const directory = ::opendir("/sys/class/infiniband_mad");
    if (directory != nullptr) ::closedir(directory);
    return directory != nullptr;
}

}  // namespace

UmadTransport::UmadTransport(std::string device, int port, control::Loop& loop)
    : device_(std::move(device)),
      spec_(fmt::format("umad:{},port={}", device_, port)),
      port_number_(port),
      loop_(loop),
      buffer_(sizeof(ib_user_mad) + wire::mad_size) {}  // umad_size() is not yet right before the port is open

UmadTransport::~UmadTransport() {
    watch_.cancel();
    poll_.cancel();
    if (umad_ < 0) return;
    umad_close_port(umad_);
    umad_done();
}

Result<std::unique_ptr<UmadTransport>> UmadTransport::open(const std::string& device, int port, control::Loop& loop) {
    std::unique_ptr<UmadTransport> transport(new UmadTransport(device, port, loop));
    if (auto attached = transport->attach(); !attached) return std::unexpected(attached.error());
    return transport;
}

Result<void> UmadTransport::attach() {
    if (!kernel_has_umad() || umad_init() < 0) {
        return failure(ENODEV, "the kernel has no user MAD interface: load the module ib_umad");
    }
    umad_ = umad_open_port(device_.c_str(), port_number_);
    if (umad_ < 0) {
        umad_done();
        return failure(ENODEV,
                       fmt::format("cannot open port {} of RDMA device '{}': {}; see `ibstat -l`, and run as root",
                                   port_number_, device_, std::strerror(umad_ == -1 ? ENODEV : -umad_)));
    }
    if (auto registered = register_agents(); !registered) return registered;
    PortFacts facts;
    if (!read_sysfs(facts)) {
        return failure(ENODEV, fmt::format("cannot read the state of port {} of '{}' in sysfs", port_number_, device_));
    }
    seen_ = facts;
    smps_answered_ = wait_for_smps();
    if (!smps_answered_) observe(std::move(facts));

    const auto drain = [this] {
        for (unsigned n = 0; n < max_reads && read_one();) ++n;
    };
    if (auto watch = loop_.watch(umad_get_fd(umad_), [drain](std::uint32_t) { drain(); })) {
        watch_ = std::move(*watch);
    } else {
        poll_ = loop_.every(poll_period, drain);
    }
    return {};
}

Result<void> UmadTransport::register_agents() {
    long reports[16 / sizeof(long)] = {};  // a bit for each method that we serve
    reports[0] = 1L << static_cast<unsigned>(wire::MadMethod::report);
    const auto sa_class = static_cast<int>(wire::MadClass::subnet_administration);
    sa_agent_ = umad_register(umad_, sa_class, wire::sa_class_version, 0, reports);
    // Another process may have claimed Reports; then SubnetWatch alone has to notice changes.
    if (sa_agent_ < 0) sa_agent_ = umad_register(umad_, sa_class, wire::sa_class_version, 0, nullptr);
    smp_agent_ = umad_register(umad_, static_cast<int>(wire::MadClass::subnet_directed_route), 1, 0, nullptr);
    // Never used; but ibsim's preload library crashes on a MAD of a class without agent.
    umad_register(umad_, static_cast<int>(wire::MadClass::subnet_lid_routed), 1, 0, nullptr);
    if (sa_agent_ >= 0) return {};
    return failure(EPERM, fmt::format("cannot register with the MAD layer of '{}': run as root", device_));
}

bool UmadTransport::read_sysfs(PortFacts& facts) const {
    umad_port_t port{};
    if (umad_get_port(device_.c_str(), port_number_, &port) < 0) return false;
    const std::unique_ptr<umad_port_t, decltype([](umad_port_t* of) { umad_release_port(of); })> held(&port);
    facts.lid = wire::Lid{static_cast<std::uint16_t>(port.base_lid)};
    facts.sm_lid = wire::Lid{static_cast<std::uint16_t>(port.sm_lid)};
    facts.sm_sl = static_cast<std::uint8_t>(port.sm_sl);
    facts.lmc = static_cast<std::uint8_t>(port.lmc);
    facts.guid = wire::Guid{be64toh(port.port_guid)};
    facts.subnet_prefix = be64toh(port.gid_prefix);
    facts.state = wire::PortState{static_cast<std::uint8_t>(port.state)};
    facts.mtu = mtu_without_smps;
    facts.pkeys.clear();
    for (unsigned i = 0; i < port.pkeys_size; ++i) facts.pkeys.push_back(wire::PKey{port.pkeys[i]});
    return true;
}

bool UmadTransport::wait_for_smps() {
    if (smp_agent_ < 0) return false;
    refresh();
    while (port().state == wire::PortState::no_change && umad_poll(umad_, smp_patience_ms) == 0) {
        if (!read_one()) break;
    }
    return port().state != wire::PortState::no_change;
}

void UmadTransport::refresh() {
    if (smp_agent_ >= 0 && (smps_answered_ || port().state == wire::PortState::no_change)) {
        ask_smp(wire::AttributeId::port_info, static_cast<std::uint32_t>(port_number_));
        ask_smp(wire::AttributeId::pkey_table, 0);  // its first block: 32 P_Keys
    } else if (PortFacts facts; read_sysfs(facts)) {
        observe(std::move(facts));
    }
}

void UmadTransport::ask_smp(wire::AttributeId attribute, std::uint32_t modifier) {
    MadBuffer smp{};
    wire::Mad{.management_class = wire::MadClass::subnet_directed_route,
              .method = wire::MadMethod::get,
              .transaction = ++smp_tid_,
              .attribute = static_cast<std::uint16_t>(attribute),
              .modifier = modifier}
        .emit(std::span(smp).first<wire::Mad::size>());
    wire::store32(smp, smp_dr_lids_at, 0xffff'ffff);
    const MadAddress self{.lid = wire::permissive_lid, .qpn = smi, .qkey = wire::QKey{0}};
    write(smp_agent_, self, smp, smp_patience_ms);
}

void UmadTransport::take_smp(MadBytes mad) {
    const auto header = wire::Mad::parse(mad);
    // Bit 15 is the direction of a directed-route SMP; the rest is the status (IBTA 14.2.1.2).
    if (!header || !wire::is_response(header->method) || (header->status & 0x7fff) != 0) return;
    const auto data = mad.subspan<wire::smp_data_offset, wire::smp_data_size>();
    if (header->attribute == static_cast<std::uint16_t>(wire::AttributeId::port_info)) {
        apply(*wire::PortInfo::parse(data), seen_);
    } else if (header->attribute == static_cast<std::uint16_t>(wire::AttributeId::pkey_table)) {
        seen_.pkeys.clear();
        append_pkeys(data, seen_);
        observe(seen_);
    }
}

void UmadTransport::send(const MadAddress& to, MadBytes mad, Time reply_within) {
    // A little less than the caller waits, so that the kernel's timeout precedes the retransmission.
    const auto timeout_ms = static_cast<int>(reply_within / millisecond * 7 / 8);
    if (write(sa_agent_, to, mad, timeout_ms)) sent(loop_.now(), to, mad);
}

bool UmadTransport::write(int agent, const MadAddress& to, MadBytes mad, int timeout_ms) {
    auto* umad = buffer_.data();
    std::ranges::fill(buffer_, std::byte{0});
    std::ranges::copy(mad, static_cast<std::byte*>(umad_get_mad(umad)));
    umad_set_addr(umad, static_cast<int>(to.lid), static_cast<int>(to.qpn), to.sl, static_cast<int>(to.qkey));
    umad_set_pkey(umad, to.pkey_index);
    if (umad_send(umad_, agent, umad, wire::mad_size, timeout_ms, 0) >= 0) return true;
    counters_.tx_errors.add();
    return false;
}

bool UmadTransport::read_one() {
    auto* umad = buffer_.data();
    std::ranges::fill(buffer_, std::byte{0});
    int length = wire::mad_size;
    const int agent = umad_recv(umad_, umad, &length, 0);
    if (agent < 0) return false;
    constexpr int smallest = wire::Mad::size;
    if (umad_status(umad) != 0) {
        counters_.tx_undeliverable.add();  // our own request, returned: its transaction will time out
        return true;
    }
    if (length < smallest || length > static_cast<int>(wire::mad_size)) {
        counters_.rx_dropped_bad_length.add();
        return true;
    }
    // A copy: a receiver may send, and sending uses the buffer.
    MadBuffer mad{};
    std::memcpy(mad.data(), umad_get_mad(umad), static_cast<std::size_t>(length));
    const auto* from = umad_get_mad_addr(umad);
    const MadAddress address{.lid = wire::Lid{be16toh(from->lid)},
                             .qpn = wire::Qpn{be32toh(from->qpn)},
                             .sl = from->sl,
                             .pkey_index = static_cast<std::uint16_t>(umad_get_pkey(umad))};
    if (agent == smp_agent_) {
        take_smp(mad);
    } else {
        deliver(loop_.now(), address, mad);
    }
    return true;
}

}  // namespace verbline::mad
