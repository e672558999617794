// SPDX-License-Identifier: BSD-3-Clause
// verbs_changes WHAT...: WHAT is an ADDRESS, on which it listens, or ADDRESS,GROUP, a group that it joins from there.
// Says `ready` when it is in all groups, and every event as `WHAT: EVENT`, until the device of each is gone.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <netdb.h>

#include <rdma/rdma_cma.h>

namespace {

[[noreturn]] void give_up(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    std::exit(1);
}

sockaddr_storage address_of(const std::string& text) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(text.c_str(), nullptr, &hints, &found); error != 0)
        give_up(text.c_str(), gai_strerror(error));
    sockaddr_storage address{};
    std::memcpy(&address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return address;
}

/// True: there will be an event when it is in its group. The words themselves are what ids are told apart by.
bool start(rdma_event_channel* channel, char* what) {
    const std::string words(what);
    const auto comma = words.find(',');
    const bool joins = comma != std::string::npos;
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel, &id, what, joins ? RDMA_PS_UDP : RDMA_PS_TCP) != 0)
        give_up("rdma_create_id", std::strerror(errno));
    auto address = address_of(words.substr(0, comma));
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) != 0) give_up(what, std::strerror(errno));
    if (!joins && rdma_listen(id, 1) != 0) give_up("rdma_listen", std::strerror(errno));
    if (!joins) return false;
    auto group = address_of(words.substr(comma + 1));
    if (rdma_join_multicast(id, reinterpret_cast<sockaddr*>(&group), what) != 0)
        give_up("rdma_join_multicast", std::strerror(errno));
    return true;
}

void say(const char* line) {
    std::puts(line);
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    auto* const channel = rdma_create_event_channel();
    if (channel == nullptr) give_up("rdma_create_event_channel", std::strerror(errno));
    int awaited = 0;
    for (int i = 1; i < count; ++i) awaited += start(channel, arguments[i]) ? 1 : 0;
    if (awaited == 0) say("ready");
    for (int left = count - 1; left > 0;) {
        rdma_cm_event* event = nullptr;
        if (rdma_get_cm_event(channel, &event) != 0) give_up("rdma_get_cm_event", std::strerror(errno));
        auto* const id = event->id;
        const auto kind = event->event;
        const bool gone = kind == RDMA_CM_EVENT_DEVICE_REMOVAL;
        rdma_ack_cm_event(event);
        say((std::string(static_cast<const char*>(id->context)) + ": " + rdma_event_str(kind)).c_str());
        if (kind == RDMA_CM_EVENT_MULTICAST_JOIN && --awaited == 0) say("ready");
        if (!gone) continue;
        if (rdma_destroy_id(id) != 0) give_up("rdma_destroy_id", std::strerror(errno));
        --left;
    }
    rdma_destroy_event_channel(channel);
    return 0;
}
