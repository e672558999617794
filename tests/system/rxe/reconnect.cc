// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// reconnect -p PORT [-n TIMES] [HOST]
///
/// What an NVMe-oF host does to its target when the network is bad, and nothing else: connects, sends one message, sees
/// it answered, disconnects, gives everything back, and begins again. Each time the two ends count.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <netdb.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace {

[[noreturn]] void fail(const char* what) {
    std::printf("Failed: ");
    std::fflush(stdout);
    std::perror(what);
    std::exit(1);
}

void need(bool good, const char* what) {
    if (!good) fail(what);
}

struct Options {
    std::string port = "7480";
    std::uint32_t times = 1000;
    const char* host = nullptr;
};

Options parse(int count, char** words) {
    Options options;
    for (int option = 0; (option = getopt(count, words, "p:n:")) != -1;) {
        switch (option) {
            case 'p': options.port = optarg; break;
            case 'n': options.times = static_cast<std::uint32_t>(std::atoi(optarg)); break;
            default: std::exit(2);
        }
    }
    if (optind < count) options.host = words[optind];
    return options;
}

ibv_qp_init_attr queue_pair() {
    ibv_qp_init_attr wanted{};
    wanted.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 8};
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    return wanted;
}

/// One message each way: `number` from the active side, `number` + 1 back.
class Message {
public:
    explicit Message(rdma_cm_id* id) : id_(id), region_(rdma_reg_msgs(id, &number_, sizeof number_)) {
        need(region_ != nullptr, "rdma_reg_msgs");
        need(rdma_post_recv(id_, nullptr, &number_, sizeof number_, region_) == 0, "rdma_post_recv");
    }
    ~Message() { rdma_dereg_mr(region_); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    void send(std::uint32_t number) {
        ibv_wc completion{};
        need(rdma_post_send(id_, nullptr, &number, sizeof number, nullptr, IBV_SEND_INLINE) == 0, "rdma_post_send");
        need(rdma_get_send_comp(id_, &completion) == 1 && completion.status == IBV_WC_SUCCESS, "rdma_get_send_comp");
    }
    std::uint32_t receive() {
        ibv_wc completion{};
        need(rdma_get_recv_comp(id_, &completion) == 1 && completion.status == IBV_WC_SUCCESS, "rdma_get_recv_comp");
        return number_;
    }

private:
    rdma_cm_id* id_;
    std::uint32_t number_ = 0;
    ibv_mr* region_;
};

rdma_addrinfo* find(const Options& options, int flags) {
    rdma_addrinfo hints{}, *found = nullptr;
    hints.ai_flags = flags;
    hints.ai_port_space = RDMA_PS_TCP;
    need(rdma_getaddrinfo(options.host, options.port.c_str(), &hints, &found) == 0, "rdma_getaddrinfo");
    return found;
}

void connect_once(rdma_addrinfo* peer, std::uint32_t number) {
    auto wanted = queue_pair();
    rdma_cm_id* id = nullptr;
    need(rdma_create_ep(&id, peer, nullptr, &wanted) == 0, "rdma_create_ep");
    {
        Message message(id);
        need(rdma_connect(id, nullptr) == 0, "rdma_connect");
        message.send(number);
        need(message.receive() == number + 1, "another answer");
        need(rdma_disconnect(id) == 0, "rdma_disconnect");
    }
    rdma_destroy_ep(id);
}

void run_client(const Options& options) {
    auto* const peer = find(options, 0);
    for (std::uint32_t number = 0; number < options.times; ++number) connect_once(peer, number);
    rdma_freeaddrinfo(peer);
}

void serve_once(rdma_cm_id* listener, std::uint32_t number) {
    rdma_cm_id* id = nullptr;
    need(rdma_get_request(listener, &id) == 0, "rdma_get_request");
    {
        Message message(id);
        need(rdma_accept(id, nullptr) == 0, "rdma_accept");
        need(message.receive() == number, "another number");
        message.send(number + 1);
        rdma_disconnect(id);  // the other may have been quicker
    }
    rdma_destroy_ep(id);
}

void run_server(const Options& options) {
    auto* const here = find(options, RAI_PASSIVE);
    auto wanted = queue_pair();
    rdma_cm_id* listener = nullptr;
    need(rdma_create_ep(&listener, here, nullptr, &wanted) == 0, "rdma_create_ep");
    need(rdma_listen(listener, 8) == 0, "rdma_listen");
    for (std::uint32_t number = 0; number < options.times; ++number) serve_once(listener, number);
    rdma_destroy_ep(listener);
    rdma_freeaddrinfo(here);
}

}  // namespace

int main(int count, char** words) {
    const auto options = parse(count, words);
    const auto began = std::chrono::steady_clock::now();
    options.host != nullptr ? run_client(options) : run_server(options);
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf("%u iters in %.2f seconds\n", options.times, seconds);
    return 0;
}
