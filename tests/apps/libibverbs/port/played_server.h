// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A hub or node that a test plays at the other end of a lane's connection. What it says may be there before the
/// questions.

#include <array>
#include <span>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "control/hub/client.h"
#include "control/hub/protocol.h"
#include "pmd/base/descriptor_message.h"
#include "tests/support/unix_socket.h"

namespace verbline::test {

class PlayedServer {
public:
    /// Makes it the server of the lane, whose reads wait for answers.
    explicit PlayedServer(hub::Lane& lane) {
        std::tie(lane.control, socket_) = socket_pair();
        fcntl(lane.control.get(), F_SETFL, 0);
    }
    int descriptor() const { return socket_.get(); }
    void say(const hub::Message& message) const {
        ASSERT_GT(send_with_descriptor(socket_.get(), hub::encode(message), -1), 0);
    }
    /// What has come since the last call.
    std::vector<hub::Message> heard() const {
        std::vector<hub::Message> all;
        std::array<std::byte, hub::largest_message> bytes;
        for (ssize_t n = 0; (n = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0;)
            all.push_back(hub::decode(std::span(bytes).first(static_cast<std::size_t>(n))).value());
        return all;
    }

private:
    FileDescriptor socket_;
};

}  // namespace verbline::test
