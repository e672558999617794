// SPDX-License-Identifier: BSD-3-Clause
// verbs_changes ADDRESS...: listens on each of the addresses, says `ready`, and then every event as `ADDRESS: EVENT`,
// until every address's device is gone.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <netdb.h>

#include <rdma/rdma_cma.h>

namespace {

[[noreturn]] void give_up(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}

/// The address itself is what its id's events are told apart by.
void listen_on(rdma_event_channel* channel, char* address) {
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel, &id, address, RDMA_PS_TCP) != 0) give_up("rdma_create_id", std::strerror(errno));
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(address, nullptr, &hints, &found); error != 0)
        give_up(address, gai_strerror(error));
    if (rdma_bind_addr(id, found->ai_addr) != 0) give_up(address, std::strerror(errno));
    freeaddrinfo(found);
    if (rdma_listen(id, 1) != 0) give_up("rdma_listen", std::strerror(errno));
}

}  // namespace

int main(int count, char** arguments) {
    auto* const channel = rdma_create_event_channel();
    if (channel == nullptr) give_up("rdma_create_event_channel", std::strerror(errno));
    for (int i = 1; i < count; ++i) listen_on(channel, arguments[i]);
    std::puts("ready");
    std::fflush(stdout);
    for (int left = count - 1; left > 0;) {
        rdma_cm_event* event = nullptr;
        if (rdma_get_cm_event(channel, &event) != 0) give_up("rdma_get_cm_event", std::strerror(errno));
        auto* const id = event->id;
        const bool gone = event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
        std::printf("%s: %s\n", static_cast<const char*>(id->context), rdma_event_str(event->event));
        std::fflush(stdout);
        rdma_ack_cm_event(event);
        if (!gone) continue;
        if (rdma_destroy_id(id) != 0) give_up("rdma_destroy_id", std::strerror(errno));
        --left;
    }
    rdma_destroy_event_channel(channel);
    return 0;
}
