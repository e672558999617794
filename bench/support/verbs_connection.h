// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair that is connected, over a memif pair, to one in a child process, which receives and does nothing else.

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/verbs_end.h"

namespace verbline::bench {

/// One for the program: a child cannot use what its parent has opened, nor open it again.
class VerbsConnection {
public:
    static VerbsConnection& only() {
        static VerbsConnection made;
        return made;
    }

    VerbsEnd& sender() { return *sender_; }
    /// Until `resume_receiver` nothing is received or answered.
    void stop_receiver() const {
        kill(child_, SIGSTOP);
        waitpid(child_, nullptr, WUNTRACED);
    }
    void resume_receiver() const { kill(child_, SIGCONT); }

    VerbsConnection(const VerbsConnection&) = delete;
    VerbsConnection& operator=(const VerbsConnection&) = delete;

private:
    VerbsConnection() {
        must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_.data()));
        child_ = fork();
        if (child_ == 0) receive();
        sender_.emplace(link());
        sender_->connect(exchange(ends_[0], sender_->address()));
        char ready = 0;
        must(read(ends_[0], &ready, 1) != 1);
    }
    ~VerbsConnection() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
        sender_.reset();
        std::filesystem::remove(socket_);
    }

    std::string link() const { return "memif:" + socket_.string(); }

    [[noreturn]] void receive() {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        VerbsEnd receiver(link() + ",server");
        receiver.connect(exchange(ends_[1], receiver.address()));
        for (auto n = VerbsEnd::receives; n > 0; --n) receiver.post_receive();
        must(write(ends_[1], "", 1) != 1);
        for (;;) {
            receiver.complete();
            receiver.post_receive();
        }
    }

    static VerbsEnd::Address exchange(int with, const VerbsEnd::Address& own) {
        VerbsEnd::Address other;
        must(write(with, &own, sizeof own) != sizeof own);
        must(read(with, &other, sizeof other) != sizeof other);
        return other;
    }

    const std::filesystem::path socket_ =
        std::filesystem::temp_directory_path() / ("verbline-bench-" + std::to_string(getpid()));
    std::array<int, 2> ends_{};
    pid_t child_ = 0;
    std::optional<VerbsEnd> sender_;
};

}  // namespace verbline::bench
