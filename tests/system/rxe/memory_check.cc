// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// memory_check -g GID-INDEX -m MTU -p TCP-PORT [-n ITERATIONS] [HOST]
///
/// A verbs program that looks at every byte: the client WRITEs to the server and READs it back, SENDs what the server
/// knows beforehand, with and without immediate data, from several pieces, and counts with atomics. Both ends hold on
/// until the other has all it waits for, so that lost packets of the end do no harm.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <endian.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

namespace {

[[noreturn]] void fail(const std::string& what) {
    std::printf("Failed: %s\n", what.c_str());
    std::exit(1);
}

void need(bool good, const char* what) {
    if (!good) fail(what);
}

struct Options {
    std::uint8_t gid_index = 0;
    unsigned mtu = 1024, iterations = 100;
    const char *port = "18515", *host = nullptr;
};

Options parse(int count, char** words) {
    Options options;
    for (int option = 0; (option = getopt(count, words, "g:m:p:n:")) != -1;) {
        switch (option) {
            case 'g': options.gid_index = static_cast<std::uint8_t>(std::atoi(optarg)); break;
            case 'm': options.mtu = static_cast<unsigned>(std::atoi(optarg)); break;
            case 'p': options.port = optarg; break;
            case 'n': options.iterations = static_cast<unsigned>(std::atoi(optarg)); break;
            default: std::exit(2);
        }
    }
    if (optind < count) options.host = words[optind];
    return options;
}

// --- the connection that the two arrange by TCP ---------------------------------------------------------------------

int connect_or_accept(const Options& options) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = options.host != nullptr ? 0 : AI_PASSIVE;
    need(getaddrinfo(options.host, options.port, &hints, &found) == 0, "no such host");
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (options.host != nullptr) {
        need(connect(socket, found->ai_addr, found->ai_addrlen) == 0, "cannot connect");
        return socket;
    }
    need(bind(socket, found->ai_addr, found->ai_addrlen) == 0 && listen(socket, 1) == 0, "cannot listen");
    return accept(socket, nullptr, nullptr);
}

/// Both ends are of the same architecture.
struct Place {
    ibv_gid gid;
    std::uint32_t qpn, key;
    std::uint64_t address;
};

template <class T>
T exchange(int socket, const T& mine) {
    T theirs{};
    need(send(socket, &mine, sizeof mine, 0) == sizeof mine, "the other end has gone");
    need(recv(socket, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "the other end has gone");
    return theirs;
}

// --- verbs
// ------------------------------------------------------------------------------------------------------------

constexpr std::size_t largest = 200'000, half = 262'144;
constexpr std::uint64_t marked = 0xfeed'0000'0000;

struct End {
    ibv_context* context = nullptr;
    ibv_pd* domain = nullptr;
    ibv_cq* completions = nullptr;
    ibv_qp* queue_pair = nullptr;
    ibv_mr* region = nullptr;
    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(3 * half);
    Place peer{};

    /// What is to be sent, what has come back or been received, and the part that the peer may do anything with.
    std::span<std::uint8_t> source() { return std::span(memory).first(half); }
    std::span<std::uint8_t> arrived() { return std::span(memory).subspan(half, half); }
    std::span<std::uint8_t> exposed() { return std::span(memory).subspan(2 * half); }

    ibv_sge piece(std::span<std::uint8_t> bytes) const {
        return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), region->lkey};
    }
};

void open(End& end) {
    ibv_device** devices = ibv_get_device_list(nullptr);
    need(devices != nullptr && devices[0] != nullptr, "no device");
    end.context = ibv_open_device(devices[0]);
    need(end.context != nullptr, "cannot open the device");
    end.domain = ibv_alloc_pd(end.context);
    end.completions = ibv_create_cq(end.context, 128, nullptr, nullptr, 0);
    const int all =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    end.region = ibv_reg_mr(end.domain, end.memory.data(), end.memory.size(), all);
    need(end.region != nullptr, "cannot register memory");
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = end.completions;
    wanted.cap = {.max_send_wr = 32, .max_recv_wr = 1, .max_send_sge = 3, .max_recv_sge = 2, .max_inline_data = 64};
    wanted.qp_type = IBV_QPT_RC;
    end.queue_pair = ibv_create_qp(end.domain, &wanted);
    need(end.queue_pair != nullptr, "cannot make a queue pair");
}

/// One at a time, as there is one place: who is too early hears that the receiver is not ready.
void post_receive(End& end) {
    ibv_sge pieces[] = {end.piece(end.arrived().first(1001)), end.piece(end.arrived().subspan(1001, largest))};
    ibv_recv_wr request{.wr_id = 0, .next = nullptr, .sg_list = pieces, .num_sge = 2}, *bad = nullptr;
    need(ibv_post_recv(end.queue_pair, &request, &bad) == 0, "ibv_post_recv");
}

void connect(End& end, const Options& options, int socket) {
    Place mine{.gid = {},
               .qpn = end.queue_pair->qp_num,
               .key = end.region->rkey,
               .address = reinterpret_cast<std::uintptr_t>(end.exposed().data())};
    need(ibv_query_gid(end.context, 1, options.gid_index, &mine.gid) == 0, "no such GID");
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = 1;
    to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    need(ibv_modify_qp(end.queue_pair, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
         "INIT");
    post_receive(end);
    end.peer = exchange(socket, mine);
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = options.mtu == 4096 ? IBV_MTU_4096 : options.mtu == 2048 ? IBV_MTU_2048 : IBV_MTU_1024;
    to.dest_qp_num = end.peer.qpn;
    to.max_dest_rd_atomic = to.max_rd_atomic = 1;
    to.min_rnr_timer = 12;
    to.ah_attr.is_global = 1;
    to.ah_attr.port_num = 1;
    to.ah_attr.grh = {
        .dgid = end.peer.gid, .flow_label = 0, .sgid_index = options.gid_index, .hop_limit = 64, .traffic_class = 0};
    need(ibv_modify_qp(end.queue_pair, &to,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
         "RTR");
    to.qp_state = IBV_QPS_RTS;
    to.timeout = 15;
    to.retry_cnt = to.rnr_retry = 7;
    need(ibv_modify_qp(end.queue_pair, &to,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0,
         "RTS");
    exchange(socket, 0);
}

ibv_wc await_completion(End& end) {
    ibv_wc completion{};
    int found = 0;
    while ((found = ibv_poll_cq(end.completions, 1, &completion)) == 0) {}
    need(found == 1, "ibv_poll_cq");
    if (completion.status != IBV_WC_SUCCESS)
        fail(std::string("Completion with ") + ibv_wc_status_str(completion.status));
    return completion;
}

void post(End& end, ibv_wr_opcode opcode, std::span<ibv_sge> pieces, std::uint64_t offset, unsigned flags,
          std::uint32_t immediate = 0) {
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = pieces.data();
    request.num_sge = static_cast<int>(pieces.size());
    request.opcode = opcode;
    request.send_flags = flags;
    request.imm_data = htobe32(immediate);
    request.wr.rdma = {.remote_addr = end.peer.address + offset, .rkey = end.peer.key};
    need(ibv_post_send(end.queue_pair, &request, &bad) == 0, "ibv_post_send");
}

// --- what is transferred
// ------------------------------------------------------------------------------------------------

/// Both ends know what message `number` is.
std::span<std::uint8_t> message(End& end, unsigned number, unsigned mtu) {
    const std::size_t sizes[] = {1, 2, 3, 64, mtu - 1, mtu, mtu + 1, 2 * mtu, 10'007, 65'536, largest};
    const auto bytes = end.source().first(sizes[number % std::size(sizes)]);
    std::mt19937 random(number);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(random()); });
    return bytes;
}

bool equal(std::span<std::uint8_t> bytes, std::span<std::uint8_t> others) {
    return std::ranges::equal(bytes, others.first(bytes.size()));
}

/// Ends with where the two differ, which tells a missing packet from a wrong one.
void need_equal(std::span<std::uint8_t> bytes, std::span<std::uint8_t> others, const std::string& what) {
    const auto from = std::ranges::mismatch(bytes, others).in1;
    if (from == bytes.end()) return;
    auto to = bytes.size();
    while (bytes[to - 1] == others[to - 1]) --to;
    fail(what + " in bytes " + std::to_string(from - bytes.begin()) + " to " + std::to_string(to - 1) + " of " +
         std::to_string(bytes.size()));
}

void write_and_read_back(End& end, std::span<std::uint8_t> bytes, unsigned number) {
    ibv_sge from[] = {end.piece(bytes.first(bytes.size() / 3)), end.piece(bytes.subspan(bytes.size() / 3))};
    const std::uint64_t offset = number % 7;
    std::ranges::fill(end.arrived().first(bytes.size()), 0);
    ibv_sge to[] = {end.piece(end.arrived().first(bytes.size()))};
    post(end, IBV_WR_RDMA_WRITE, from, offset, 0);
    post(end, IBV_WR_RDMA_READ, to, offset, IBV_SEND_SIGNALED);
    await_completion(end);
    need_equal(bytes, end.arrived(), "invalid data: READ is not what was WRITTEN");
}

/// The server gets it, and looks at it.
void send(End& end, std::span<std::uint8_t> bytes, unsigned number) {
    ibv_sge from[] = {end.piece(bytes)};
    const unsigned in_line = bytes.size() <= 64 && number % 2 == 0 ? IBV_SEND_INLINE : 0;
    const auto opcode = number % 3 == 0   ? IBV_WR_SEND
                        : number % 3 == 1 ? IBV_WR_SEND_WITH_IMM
                                          : IBV_WR_RDMA_WRITE_WITH_IMM;
    post(end, opcode, from, 0, IBV_SEND_SIGNALED | in_line, number);
    await_completion(end);
}

std::uint64_t atomic(End& end, ibv_wr_opcode opcode, std::uint64_t operand, std::uint64_t swap = 0) {
    ibv_sge to[] = {end.piece(end.arrived().first(8))};
    ibv_send_wr request{}, *bad = nullptr;
    request.sg_list = to;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.atomic = {.remote_addr = end.peer.address, .compare_add = operand, .swap = swap, .rkey = end.peer.key};
    need(ibv_post_send(end.queue_pair, &request, &bad) == 0, "ibv_post_send");
    await_completion(end);
    std::uint64_t value = 0;
    std::memcpy(&value, end.arrived().data(), sizeof value);
    return value;
}

void count(End& end, unsigned number) {
    const auto was = atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, number);
    need(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, was + number, marked + number) == was + number,
         "invalid data: FETCH_AND_ADD");
    need(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, was, 1) == marked + number, "invalid data: CMP_AND_SWP");
    need(atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, 0) == marked + number,
         "invalid data: CMP_AND_SWP that does not match");
}

void run_client(End& end, const Options& options) {
    for (unsigned number = 0; number < options.iterations; ++number) {
        const auto bytes = message(end, number, options.mtu);
        write_and_read_back(end, bytes, number);
        send(end, bytes, number);
        count(end, number);
    }
}

void run_server(End& end, const Options& options) {
    for (unsigned number = 0; number < options.iterations; ++number) {
        const auto bytes = message(end, number, options.mtu);
        const auto completion = await_completion(end);
        need(completion.opcode == (number % 3 == 2 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
             "another kind of message");
        need(completion.byte_len == bytes.size(), "a message of another length");
        need(number % 3 == 0 || be32toh(completion.imm_data) == number, "invalid data: immediate");
        // What came with a WRITE may be overwritten already by the client's next.
        need(number % 3 == 2 || equal(bytes, end.arrived()), "invalid data: received");
        post_receive(end);
    }
}

}  // namespace

int main(int count, char** words) {
    const auto options = parse(count, words);
    alarm(30);
    End end;
    open(end);
    const int socket = connect_or_accept(options);
    need(socket >= 0, "no connection");
    connect(end, options, socket);
    const auto began = std::chrono::steady_clock::now();
    options.host != nullptr ? run_client(end, options) : run_server(end, options);
    std::puts("waiting for the other end");
    std::fflush(stdout);
    exchange(socket, 1);
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf("%u iters in %.2f seconds\n", options.iterations, seconds);
    return 0;
}
