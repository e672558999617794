// SPDX-License-Identifier: BSD-3-Clause
// verbs_ports NAME bind|listen [--udp] [--reuse] ADDRESS PORT: binds, or listens, says `ready`, and refuses every
// request with NAME as the reason. ADDRESS may be ib, any of AF_IB. verbs_ports NAME connect [--udp] ADDRESS PORT: says
// `refused by NAME`, or what else happens. ADDRESS may be ib:IPV4, the same by AF_IB.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <endian.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

namespace {

struct Options {
    std::string name, command, address;
    std::uint16_t port = 0;
    bool udp = false, reuse = false;
};

[[noreturn]] void give_up(const char* what) {
    std::printf("%s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

/// Service ids of AF_IB lie in the port space of TCP (IBTA annex A11).
sockaddr_storage ib_address(const std::string& ipv4, std::uint16_t port) {
    sockaddr_ib address{};
    address.sib_family = AF_IB;
    address.sib_pkey = htobe16(0xffff);
    address.sib_sid = htobe64(std::uint64_t{RDMA_PS_TCP} << 16 | port);
    address.sib_sid_mask = htobe64(~std::uint64_t{0});
    if (!ipv4.empty()) {
        auto* const bytes = reinterpret_cast<std::uint8_t*>(&address.sib_addr);
        bytes[10] = bytes[11] = 0xff;
        if (inet_pton(AF_INET, ipv4.c_str(), bytes + 12) != 1) give_up("no IPv4 address");
    }
    sockaddr_storage storage{};
    std::memcpy(&storage, &address, sizeof(address));
    return storage;
}

sockaddr_storage address_of(const Options& options) {
    if (options.address == "ib") return ib_address("", options.port);
    if (options.address.starts_with("ib:")) return ib_address(options.address.substr(3), options.port);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(options.address.c_str(), std::to_string(options.port).c_str(), &hints, &found) != 0)
        give_up("no address");
    sockaddr_storage address{};
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

/// The next event, which is acknowledged with the id's destruction.
rdma_cm_event* next_event(rdma_event_channel* channel) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) give_up("no event");
    return event;
}

[[noreturn]] void refuse_all(rdma_event_channel* channel, const std::string& name) {
    for (;;) {
        auto* const event = next_event(channel);
        std::printf("%s\n", rdma_event_str(event->event));
        rdma_cm_id* const id = event->id;
        const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
        rdma_ack_cm_event(event);
        if (!request) continue;
        if (rdma_reject(id, name.data(), static_cast<std::uint8_t>(name.size())) != 0) give_up("reject");
        rdma_destroy_id(id);
    }
}

[[noreturn]] void serve(const Options& options, rdma_event_channel* channel, rdma_cm_id* id) {
    int on = 1;
    if (options.reuse && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)) != 0)
        give_up("reuse");
    auto address = address_of(options);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0) give_up("bind");
    if (options.command == "listen" && rdma_listen(id, 8) != 0) give_up("listen");
    std::puts("ready");
    refuse_all(channel, options.name);
}

void expect(rdma_event_channel* channel, rdma_cm_event_type type) {
    auto* const event = next_event(channel);
    if (event->event == type) {
        rdma_ack_cm_event(event);
        return;
    }
    std::printf("%s\n", rdma_event_str(event->event));
    std::exit(1);
}

void connect(const Options& options, rdma_event_channel* channel, rdma_cm_id* id) {
    constexpr int limit = 2000;  // milliseconds
    auto address = address_of(options);
    if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), limit) != 0) give_up("resolve");
    expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(id, limit) != 0) give_up("route");
    expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    rdma_conn_param parameters{};
    parameters.qp_num = 0x77;  // no queue pair: nobody accepts
    if (rdma_connect(id, &parameters) != 0) give_up("connect");
    auto* const event = next_event(channel);
    const auto& answer = event->param.conn;
    const bool named = event->event == RDMA_CM_EVENT_REJECTED && answer.private_data != nullptr;
    if (named && *static_cast<const char*>(answer.private_data) != '\0') {
        std::printf("refused by %s\n",
                    std::string(static_cast<const char*>(answer.private_data), answer.private_data_len).c_str());
    } else {
        std::printf("%s %d\n", rdma_event_str(event->event), event->status);
    }
    rdma_ack_cm_event(event);
}

}  // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Options options;
    int at = 1;
    options.name = at < count ? arguments[at++] : "";
    options.command = at < count ? arguments[at++] : "";
    for (; at < count && std::string_view(arguments[at]).starts_with("--"); ++at) {
        options.udp = options.udp || std::string_view(arguments[at]) == "--udp";
        options.reuse = options.reuse || std::string_view(arguments[at]) == "--reuse";
    }
    if (count - at != 2) return std::fputs("usage: verbs_ports NAME bind|listen|connect ADDRESS PORT\n", stderr), 2;
    options.address = arguments[at];
    options.port = static_cast<std::uint16_t>(std::atoi(arguments[at + 1]));
    rdma_event_channel* const channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    const bool ib = options.address.starts_with("ib");
    const auto space = options.udp ? RDMA_PS_UDP : ib ? RDMA_PS_IB : RDMA_PS_TCP;
    if (channel == nullptr || rdma_create_id(channel, &id, nullptr, space) != 0) give_up("id");
    if (options.command != "connect") serve(options, channel, id);
    connect(options, channel, id);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}
