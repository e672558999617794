// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A table by RMPP, by the distribution's libibumad alone: `serve BYTES` answers one request for it, `ask LID BYTES`
/// reads it and compares it. Each byte follows from its place.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <infiniband/umad.h>
#include <unistd.h>

#include <arpa/inet.h>

namespace {

constexpr int vendor_class = 0x30, get_table = 0x12, get_table_response = 0x92;
constexpr std::size_t one_mad = 256, headers = 40, method = 3, oui = 37, rmpp_flags = 26;
constexpr int patience = 20'000;                // ms
constexpr std::uint32_t gsi_qkey = 0x80010000;  // IBTA volume 1, 3.5.3

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

unsigned char byte_at(std::size_t place) {
    return static_cast<unsigned char>(place * 31 + place / 251);
}

/// An agent of a port, and one message.
class Agent {
public:
    Agent(std::size_t room, bool serves) {
        port_ = umad_open_port(nullptr, 0);
        if (port_ < 0) die("umad_open_port");
        buffer_.resize(umad_size() + std::max(room, one_mad));  // the header's size depends on the port's device
        uint8_t vendor[3] = {0, 0x14, 5};
        long methods[2] = {serves ? 1L << get_table : 0, 0};
        agent_ = umad_register_oui(port_, vendor_class, 1, vendor, methods);
        if (agent_ < 0) die("umad_register_oui");
    }
    unsigned char* mad() { return static_cast<unsigned char*>(umad_get_mad(buffer_.data())); }
    void* message() { return buffer_.data(); }
    int receive() {
        int length = static_cast<int>(buffer_.size() - umad_size());
        if (umad_recv(port_, buffer_.data(), &length, patience) < 0) die("umad_recv");
        if (umad_status(buffer_.data()) != 0) {
            std::fprintf(stderr, "status %d\n", umad_status(buffer_.data()));
            std::exit(1);
        }
        return length;
    }
    void send(std::size_t length, int timeout) {
        if (umad_send(port_, agent_, buffer_.data(), static_cast<int>(length), timeout, 3) < 0) die("umad_send");
    }

private:
    std::vector<char> buffer_;
    int port_ = -1, agent_ = -1;
};

int serve(std::size_t bytes) {
    Agent agent(headers + bytes, true);
    std::puts("ready");
    std::fflush(stdout);
    agent.receive();
    auto* const mad = agent.mad();
    mad[method] = get_table_response;
    mad[rmpp_flags] = 1;  // active
    for (std::size_t place = 0; place < bytes; ++place) mad[headers + place] = byte_at(place);
    ib_mad_addr_t from = *umad_get_mad_addr(agent.message());
    umad_set_addr_net(agent.message(), from.lid, from.qpn, from.sl, htonl(gsi_qkey));
    agent.send(headers + bytes, 2000);
    return pause();  // nothing tells when the transfer has ended: the test ends this one
}

int ask(int lid, std::size_t bytes) {
    Agent agent(headers + bytes, false);
    auto* const mad = agent.mad();
    mad[0] = 1, mad[1] = vendor_class, mad[2] = 1, mad[method] = get_table;
    mad[oui + 1] = 0x14, mad[oui + 2] = 5;
    umad_set_addr(agent.message(), lid, 1, 0, static_cast<int>(gsi_qkey));
    agent.send(one_mad, 2000);
    const auto length = static_cast<std::size_t>(agent.receive());
    std::size_t wrong = 0;
    for (std::size_t place = 0; place < bytes; ++place) wrong += agent.mad()[headers + place] != byte_at(place);
    std::printf("%zu bytes, %zu wrong\n", length - headers, wrong);
    return length == headers + bytes && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count == 3 && std::string(words[1]) == "serve") return serve(std::strtoul(words[2], nullptr, 0));
    if (count == 4 && std::string(words[1]) == "ask")
        return ask(std::atoi(words[2]), std::strtoul(words[3], nullptr, 0));
    std::fputs("serve BYTES | ask LID BYTES\n", stderr);
    return 2;
}
