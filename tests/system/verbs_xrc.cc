// SPDX-License-Identifier: BSD-3-Clause
// verbs_xrc ROLE ...: XRC among processes, by nothing but the verbs. Each command is a line of standard input, each
// answer one of standard output; what it prints first is how others reach it.
//
//     target FILE           makes a target queue pair in the domain of FILE, and a shared receive queue
//     member FILE [QPN]     a shared receive queue in that domain; with a number it opens the target, too
//     initiator             an initiator queue pair, and memory to READ into
//
//     connect QPN PSN GID                       target, initiator
//     receive COUNT                             target, member: waits for so many messages, prints their sum
//     close                                     target, member: destroys its handle of the target, and keeps the rest
//     send SRQ FIRST COUNT SIZE                 initiator: messages FIRST, FIRST + 1, ...
//     spread COUNT SIZE SRQ...                  initiator: COUNT messages, one for each queue in turn
//     write | read SRQ KEY ADDRESS VALUE        initiator: of eight bytes; read expects the value
//
// A message holds its number and a pattern made of it, which the receiver checks.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <arpa/inet.h>

#include "tests/system/verbs_checks.h"

namespace {

constexpr std::uint32_t depth = 256, slot_size = 8192;
constexpr std::uint32_t our_psn = 0xfffff0;  // wraps
constexpr std::chrono::seconds limit{20};

void say(const std::string& line) {
    std::cout << line << std::endl;
}

struct Message {
    std::uint64_t number;
    static std::byte at(std::uint64_t number, std::size_t place) {
        return static_cast<std::byte>(number * 31 + place * 7);
    }
    static void fill(std::byte* to, std::size_t size, std::uint64_t number) {
        for (std::size_t i = 0; i < size; ++i) to[i] = at(number, i);
        std::memcpy(to, &number, sizeof(number));
    }
    static std::uint64_t check(const std::byte* from, std::size_t size) {
        std::uint64_t number = 0;
        std::memcpy(&number, from, sizeof(number));
        for (std::size_t i = sizeof(number); i < size; ++i)
            if (from[i] != at(number, i)) give_up("a message is damaged", EBADMSG);
        return number;
    }
};

class Peer {
public:
    Peer() {
        auto** const list = made(ibv_get_device_list(nullptr), "ibv_get_device_list");
        context_ = made(ibv_open_device(*list), "ibv_open_device");
        ibv_free_device_list(list);
        pd_ = made(ibv_alloc_pd(context_), "ibv_alloc_pd");
        cq_ = made(ibv_create_cq(context_, depth, nullptr, nullptr, 0), "ibv_create_cq");
        memory_.resize(std::size_t{depth} * slot_size);
        constexpr int access =
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        region_ = made(ibv_reg_mr(pd_, memory_.data(), memory_.size(), access), "ibv_reg_mr");
    }

    void join_domain(const char* file) {
        const int fd = open(file, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) give_up(file);
        ibv_xrcd_init_attr attributes{
            .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = O_CREAT};
        domain_ = made(ibv_open_xrcd(context_, &attributes), "ibv_open_xrcd");
        ibv_srq_init_attr_ex srq{};
        srq.attr = {.max_wr = depth, .max_sge = 1, .srq_limit = 0};
        srq.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
        srq.srq_type = IBV_SRQT_XRC, srq.pd = pd_, srq.xrcd = domain_, srq.cq = cq_;
        srq_ = made(ibv_create_srq_ex(context_, &srq), "ibv_create_srq_ex");
        for (std::uint32_t i = 0; i < depth; ++i) post(i);
    }
    void make_target() {
        ibv_qp_init_attr_ex attributes{};
        attributes.qp_type = IBV_QPT_XRC_RECV;
        attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
        attributes.xrcd = domain_;
        qp_ = made(ibv_create_qp_ex(context_, &attributes), "ibv_create_qp_ex");
    }
    void open_target(std::uint32_t number) {
        ibv_qp_open_attr attributes{};
        attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
        attributes.qp_num = number, attributes.xrcd = domain_, attributes.qp_type = IBV_QPT_XRC_RECV;
        qp_ = made(ibv_open_qp(context_, &attributes), "ibv_open_qp");
    }
    void make_initiator() {
        ibv_qp_init_attr_ex attributes{};
        attributes.qp_type = IBV_QPT_XRC_SEND;
        attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
        attributes.pd = pd_, attributes.send_cq = cq_;
        attributes.cap = {
            .max_send_wr = depth, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
        qp_ = made(ibv_create_qp_ex(context_, &attributes), "ibv_create_qp_ex");
    }

    void connect(std::uint32_t number, std::uint32_t psn, const std::string& gid, std::uint16_t lid) {
        const bool sends = qp_->qp_type == IBV_QPT_XRC_SEND;
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_INIT, to.port_num = 1;
        to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        done(ibv_modify_qp(qp_, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
        to.qp_state = IBV_QPS_RTR, to.path_mtu = IBV_MTU_1024, to.dest_qp_num = number, to.rq_psn = psn;
        to.max_dest_rd_atomic = 8, to.min_rnr_timer = 10;
        to.ah_attr.is_global = global(), to.ah_attr.port_num = 1, to.ah_attr.grh.hop_limit = 64;
        to.ah_attr.dlid = lid;
        to.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index());
        if (inet_pton(AF_INET6, gid.c_str(), to.ah_attr.grh.dgid.raw) != 1) give_up("GID", EINVAL);
        const int responds = sends ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        done(ibv_modify_qp(qp_, &to,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | responds),
             "RTR");
        to.qp_state = IBV_QPS_RTS, to.sq_psn = our_psn, to.timeout = 14, to.retry_cnt = 7, to.rnr_retry = 7;
        to.max_rd_atomic = 8;
        const int requests = sends ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0;
        done(ibv_modify_qp(qp_, &to, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | requests), "RTS");
    }

    void introduce() {
        std::ostringstream line;
        std::uint32_t number = 0;
        if (srq_ != nullptr) done(ibv_get_srq_num(srq_, &number), "ibv_get_srq_num");
        line << "qpn " << (qp_ != nullptr ? qp_->qp_num : 0) << " psn " << our_psn << " gid " << gid_text() << " lid "
             << port().lid << " srq " << number << " key " << region_->rkey << " address "
             << reinterpret_cast<std::uintptr_t>(word());
        say(line.str());
    }

    std::uint64_t receive(std::uint64_t count) {
        std::uint64_t sum = 0;
        for (; count > 0; --count) {
            const auto completion = next();
            if (completion.status != IBV_WC_SUCCESS) give_up(ibv_wc_status_str(completion.status), EIO);
            sum += Message::check(slot(completion.wr_id), completion.byte_len);
            post(static_cast<std::uint32_t>(completion.wr_id));
        }
        return sum;
    }
    void close_target() {
        done(ibv_destroy_qp(qp_), "ibv_destroy_qp");
        qp_ = nullptr;
    }

    /// `queues` in turn; as many at once as there are slots. Returns the status of the first that failed.
    ibv_wc_status send(std::uint64_t first, std::uint64_t count, std::uint32_t size,
                       const std::vector<std::uint32_t>& queues) {
        std::uint64_t posted = 0, completed = 0;
        while (completed < count) {
            for (; posted < count && posted - completed < depth / 2; ++posted) {
                auto* const place = slot(posted % (depth / 2));
                Message::fill(place, size, first + posted);
                request(IBV_WR_SEND, queues[posted % queues.size()], place, size, 0, 0);
            }
            if (const auto status = next().status; status != IBV_WC_SUCCESS) return status;
            ++completed;
        }
        return IBV_WC_SUCCESS;
    }
    ibv_wc_status transfer(ibv_wr_opcode operation, std::uint32_t queue, std::uint32_t key, std::uint64_t address,
                           std::uint64_t value) {
        auto* const place = slot(0);
        std::memcpy(place, operation == IBV_WR_RDMA_WRITE ? &value : &none_, sizeof(value));
        request(operation, queue, place, sizeof(value), address, key);
        const auto status = next().status;
        if (status == IBV_WC_SUCCESS && std::memcmp(place, &value, sizeof(value)) != 0)
            give_up("another value", EBADMSG);
        return status;
    }

private:
    std::byte* slot(std::uint64_t index) { return memory_.data() + index * slot_size; }
    std::byte* word() { return slot(depth) - sizeof(std::uint64_t); }  ///< the last of the memory

    void post(std::uint32_t index) {
        ibv_sge segment{reinterpret_cast<std::uintptr_t>(slot(index)), slot_size - 8, region_->lkey};
        ibv_recv_wr request{}, *bad = nullptr;
        request.wr_id = index, request.sg_list = &segment, request.num_sge = 1;
        done(ibv_post_srq_recv(srq_, &request, &bad), "ibv_post_srq_recv");
    }
    void request(ibv_wr_opcode operation, std::uint32_t queue, std::byte* place, std::uint32_t size,
                 std::uint64_t address, std::uint32_t key) {
        ibv_sge segment{reinterpret_cast<std::uintptr_t>(place), size, region_->lkey};
        ibv_send_wr request{}, *bad = nullptr;
        request.sg_list = &segment, request.num_sge = 1, request.opcode = operation;
        request.send_flags = IBV_SEND_SIGNALED, request.qp_type.xrc.remote_srqn = queue;
        request.wr.rdma = {.remote_addr = address, .rkey = key};
        done(ibv_post_send(qp_, &request, &bad), "ibv_post_send");
    }
    ibv_wc next() {
        ibv_wc completion{};
        const auto until = std::chrono::steady_clock::now() + limit;
        while (ibv_poll_cq(cq_, 1, &completion) == 0)
            if (std::chrono::steady_clock::now() > until) give_up("no completion", ETIMEDOUT);
        return completion;
    }
    ibv_port_attr port() {
        ibv_port_attr port{};
        done(ibv_query_port(context_, 1, &port), "ibv_query_port");
        return port;
    }
    bool infiniband() { return port().link_layer == IBV_LINK_LAYER_INFINIBAND; }
    /// On InfiniBand with VERBS_XRC_LOCAL set: by LIDs, without GRH.
    bool global() { return !infiniband() || getenv("VERBS_XRC_LOCAL") == nullptr; }
    /// That of the port on InfiniBand, else that of RoCE v2 and the port's IPv4 address.
    int gid_index() {
        if (infiniband()) return 0;
        for (int index = 0; index < 16; ++index) {
            ibv_gid_entry entry{};
            if (ibv_query_gid_ex(context_, 1, static_cast<std::uint32_t>(index), &entry, 0) != 0) continue;
            const bool ipv4 = entry.gid.global.subnet_prefix == 0 && entry.gid.raw[10] == 0xff;
            if (ipv4 && entry.gid_type == IBV_GID_TYPE_ROCE_V2) return index;
        }
        give_up("no IPv4 address", ENOENT);
    }
    std::string gid_text() {
        ibv_gid gid{};
        done(ibv_query_gid(context_, 1, gid_index(), &gid), "ibv_query_gid");
        std::array<char, INET6_ADDRSTRLEN> text{};
        inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
        return text.data();
    }

    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_mr* region_ = nullptr;
    ibv_xrcd* domain_ = nullptr;
    ibv_srq* srq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    std::uint64_t none_ = 0;
    std::vector<std::byte> memory_;
};

void serve(Peer& peer, const std::string& line) {
    std::istringstream words(line);
    std::string command, gid;
    std::uint16_t lid = 0;
    std::uint64_t a = 0, b = 0, c = 0, d = 0;
    words >> command;
    if (command == "connect") {
        words >> a >> b >> gid >> lid;
        peer.connect(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), gid, lid);
        say("connected");
    } else if (command == "receive") {
        words >> a;
        say("sum " + std::to_string(peer.receive(a)));
    } else if (command == "close") {
        peer.close_target();
        say("closed");
    } else if (command == "send") {
        words >> a >> b >> c >> d;
        say(ibv_wc_status_str(peer.send(b, c, static_cast<std::uint32_t>(d), {static_cast<std::uint32_t>(a)})));
    } else if (command == "spread") {
        words >> a >> b;
        std::vector<std::uint32_t> queues;
        for (std::uint32_t queue = 0; words >> queue;) queues.push_back(queue);
        say(ibv_wc_status_str(peer.send(0, a, static_cast<std::uint32_t>(b), queues)));
    } else if (command == "write" || command == "read") {
        words >> a >> b >> c >> d;
        const auto operation = command == "write" ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
        say(ibv_wc_status_str(
            peer.transfer(operation, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), c, d)));
    } else {
        give_up(line.c_str(), EINVAL);
    }
}

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.empty()) give_up("usage: verbs_xrc target FILE | member FILE [QPN] | initiator", EINVAL);
    Peer peer;
    if (arguments[0] == "initiator") {
        peer.make_initiator();
    } else {
        peer.join_domain(arguments.at(1).c_str());
        if (arguments[0] == "target") peer.make_target();
        if (arguments.size() > 2) peer.open_target(static_cast<std::uint32_t>(std::stoul(arguments[2])));
    }
    peer.introduce();
    for (std::string line; std::getline(std::cin, line);) serve(peer, line);
}
