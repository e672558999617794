// SPDX-License-Identifier: BSD-3-Clause
// verbs_reopen server ADDRESS PORT: answers one message of each connection, says `listens` and `answered`. When its
// device is gone it closes all that it has and begins again. verbs_reopen client ADDRESS PORT: sends one message, and
// succeeds with the answer.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <poll.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace {

struct Destroy {
    void operator()(rdma_cm_id* id) const { rdma_destroy_ep(id); }
};
using Endpoint = std::unique_ptr<rdma_cm_id, Destroy>;

struct Addresses {
    ~Addresses() {
        if (found != nullptr) rdma_freeaddrinfo(found);
    }
    rdma_addrinfo* found = nullptr;
};

void say(const char* line) {
    std::puts(line);
    std::fflush(stdout);
}

/// None: an error, of which errno tells.
Endpoint endpoint(const char* address, const char* port, int flags) {
    rdma_addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_port_space = RDMA_PS_TCP;
    Addresses addresses;
    if (rdma_getaddrinfo(address, port, &hints, &addresses.found) != 0) return {};
    ibv_qp_init_attr attributes{};
    attributes.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 16};
    attributes.sq_sig_all = 1;
    rdma_cm_id* id = nullptr;
    if (rdma_create_ep(&id, addresses.found, nullptr, &attributes) != 0) return {};
    return Endpoint(id);
}

/// The message goes from the client to the server and back.
bool exchange(rdma_cm_id* id, bool client) {
    char buffer[16] = "hello";
    ibv_mr* const memory = rdma_reg_msgs(id, buffer, sizeof buffer);
    if (memory == nullptr || rdma_post_recv(id, nullptr, buffer, sizeof buffer, memory) != 0) return false;
    ibv_wc completion{};
    const auto sent = [&] {
        return rdma_post_send(id, nullptr, buffer, sizeof buffer, nullptr, IBV_SEND_INLINE) == 0 &&
               rdma_get_send_comp(id, &completion) == 1 && completion.status == IBV_WC_SUCCESS;
    };
    const auto received = [&] {
        return rdma_get_recv_comp(id, &completion) == 1 && completion.status == IBV_WC_SUCCESS;
    };
    const bool opened = client ? rdma_connect(id, nullptr) == 0 : rdma_accept(id, nullptr) == 0;
    const bool good = opened && (client ? sent() && received() : received() && sent());
    rdma_disconnect(id);
    rdma_dereg_mr(memory);
    return good;
}

int serve(const char* address, const char* port) {
    for (bool told = false;;) {
        const auto listener = endpoint(address, port, RAI_PASSIVE);
        if (!listener || rdma_listen(listener.get(), 4) != 0) {
            if (!told) std::fprintf(stderr, "waits: %s\n", std::strerror(errno));
            told = true;
            poll(nullptr, 0, 50);
            continue;
        }
        say("listens");
        for (rdma_cm_id* id = nullptr; rdma_get_request(listener.get(), &id) == 0;) {
            const Endpoint connection(id);
            if (exchange(id, false)) say("answered");
        }
        say("lost");
        told = false;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return 2;
    if (std::strcmp(arguments[1], "server") == 0) return serve(arguments[2], arguments[3]);
    const auto id = endpoint(arguments[2], arguments[3], 0);
    if (!id || !exchange(id.get(), true)) {
        std::fprintf(stderr, "client: %s\n", std::strerror(errno));
        return 1;
    }
    return 0;
}
