// SPDX-License-Identifier: BSD-3-Clause
// RDMA CM in a partition, which addresses of AF_IB name, and IP addresses are in.
//
// verbs_partitions serve PKEY PORT: listens on the first device's GID, says `ready`, and answers one connection with a
// message. verbs_partitions connect PKEY PORT GID: connects, says `heard in P_Key index N`, or what else happens.
// verbs_partitions join PKEY MGID: joins the group, says `joined`, and waits.
// verbs_partitions serve-ip ADDRESS PORT, connect-ip ADDRESS PORT: as the first two, at an IPv4 address.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace {

constexpr int limit = 2000;  // milliseconds
constexpr std::size_t size = 64;

[[noreturn]] void give_up(const char* what) {
    std::printf("%s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

struct Address {
    sockaddr_ib ib{};
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&ib); }
};

struct IpAddress {
    sockaddr_in ip{};
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&ip); }
};

IpAddress ip_address_of(const char* text, std::uint16_t port) {
    IpAddress address;
    address.ip.sin_family = AF_INET;
    address.ip.sin_port = htobe16(port);
    if (inet_pton(AF_INET, text, &address.ip.sin_addr) != 1) give_up("no address");
    return address;
}

Address address_of(const char* pkey, rdma_port_space space, std::uint16_t port) {
    Address address;
    address.ib.sib_family = AF_IB;
    address.ib.sib_pkey = htobe16(static_cast<std::uint16_t>(std::strtoul(pkey, nullptr, 0)));
    address.ib.sib_sid = htobe64(std::uint64_t{space} << 16 | port);
    address.ib.sib_sid_mask = htobe64(~std::uint64_t{0});
    return address;
}

void set_gid(Address& address, const char* gid) {
    if (inet_pton(AF_INET6, gid, &address.ib.sib_addr) != 1) give_up("no GID");
}

void set_own_gid(Address& address) {
    ibv_gid gid{};
    auto** const contexts = rdma_get_devices(nullptr);
    if (contexts == nullptr || contexts[0] == nullptr || ibv_query_gid(contexts[0], 1, 0, &gid) != 0)
        give_up("no device");
    rdma_free_devices(contexts);
    std::memcpy(&address.ib.sib_addr, gid.raw, sizeof(gid));
}

void add_queue_pair(rdma_cm_id* id) {
    ibv_qp_init_attr attributes{};
    attributes.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    attributes.sq_sig_all = 1;
    if (rdma_create_qp(id, nullptr, &attributes) != 0) give_up("queue pair");
}

template <class Where>
void serve_at(Where address, rdma_port_space space) {
    rdma_cm_id *listener = nullptr, *id = nullptr;
    if (rdma_create_id(nullptr, &listener, nullptr, space) != 0) give_up("id");
    if (rdma_bind_addr(listener, address.get()) != 0) give_up("bind");
    if (rdma_listen(listener, 1) != 0) give_up("listen");
    std::puts("ready");
    if (rdma_get_request(listener, &id) != 0) give_up("request");
    add_queue_pair(id);
    if (rdma_accept(id, nullptr) != 0) give_up("accept");
    static char message[size] = "in the partition";
    auto* const region = rdma_reg_msgs(id, message, size);
    ibv_wc done{};
    if (rdma_post_send(id, nullptr, message, size, region, 0) != 0 || rdma_get_send_comp(id, &done) != 1)
        give_up("send");
    std::printf("sent: %s\n", ibv_wc_status_str(done.status));
}

template <class Where>
void connect_to(Where address, rdma_port_space space) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(nullptr, &id, nullptr, space) != 0) give_up("id");
    if (rdma_resolve_addr(id, nullptr, address.get(), limit) != 0) give_up("resolve");
    if (rdma_resolve_route(id, limit) != 0) give_up("route");
    add_queue_pair(id);
    static char message[size];
    auto* const region = rdma_reg_msgs(id, message, size);
    if (rdma_post_recv(id, nullptr, message, size, region) != 0) give_up("receive");
    if (rdma_connect(id, nullptr) != 0) give_up("connect");
    ibv_wc done{};
    if (rdma_get_recv_comp(id, &done) != 1 || done.status != IBV_WC_SUCCESS) give_up("completion");
    ibv_qp_attr attributes{};
    ibv_qp_init_attr made_with{};
    if (ibv_query_qp(id->qp, &attributes, IBV_QP_PKEY_INDEX, &made_with) != 0) give_up("query");
    std::printf("heard %s in P_Key index %u\n", message, attributes.pkey_index);
    rdma_disconnect(id);
}

void serve(const char* pkey, std::uint16_t port) {
    auto address = address_of(pkey, RDMA_PS_IB, port);
    set_own_gid(address);
    serve_at(address, RDMA_PS_IB);
}

void connect(const char* pkey, std::uint16_t port, const char* gid) {
    auto address = address_of(pkey, RDMA_PS_IB, port);
    set_gid(address, gid);
    connect_to(address, RDMA_PS_IB);
}

void join(const char* pkey, const char* mgid) {
    auto address = address_of(pkey, RDMA_PS_UDP, 0);
    set_own_gid(address);
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_UDP) != 0) give_up("id");
    if (rdma_bind_addr(id, address.get()) != 0) give_up("bind");
    set_gid(address, mgid);
    if (rdma_join_multicast(id, address.get(), nullptr) != 0) give_up("join");
    std::puts("joined");
    pause();
}

}  // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const std::string_view what = count > 1 ? arguments[1] : "";
    const auto port = [&] { return static_cast<std::uint16_t>(std::atoi(arguments[3])); };
    if (what == "serve" && count == 4) {
        serve(arguments[2], port());
    } else if (what == "connect" && count == 5) {
        connect(arguments[2], port(), arguments[4]);
    } else if (what == "serve-ip" && count == 4) {
        serve_at(ip_address_of(arguments[2], port()), RDMA_PS_TCP);
    } else if (what == "connect-ip" && count == 4) {
        connect_to(ip_address_of(arguments[2], port()), RDMA_PS_TCP);
    } else if (what == "join" && count == 4) {
        join(arguments[2], arguments[3]);
    } else {
        return std::fputs("usage: verbs_partitions serve|connect|join PKEY ..., serve-ip|connect-ip ADDRESS PORT\n",
                          stderr),
               2;
    }
}
