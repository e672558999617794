// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Another user of the machine, for tests that run as root: what they own, what they serve.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/base/file_descriptor.h"

#define SKIP_WITHOUT_OTHER_USERS() \
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to act as another user"

namespace verbline::test {

constexpr uid_t stranger = 12345;

inline void give_to(const std::filesystem::path& path, uid_t user) {
    EXPECT_EQ(lchown(path.c_str(), user, user), 0) << path;
}

/// Runs `act` in a child as `user`; false if that, or becoming the user, fails.
inline bool as_user(uid_t user, const std::function<bool()>& act) {
    const auto child = fork();
    if (child == 0) _exit(setresuid(user, user, user) == 0 && act() ? 0 : 1);
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0;
}

/// A directory of the test's own.
class Place {
public:
    Place() {
        std::string name = std::filesystem::temp_directory_path() / "verbline-trust-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { std::filesystem::remove_all(path_); }

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path directory(const std::string& name, mode_t mode = 0700, uid_t owner = geteuid()) const {
        const auto made = path_ / name;
        EXPECT_EQ(mkdir(made.c_str(), 0700), 0) << made;
        EXPECT_EQ(chmod(made.c_str(), mode), 0);
        give_to(made, owner);
        return made;
    }

private:
    std::filesystem::path path_;
};

/// A Unix socket, whose file is ours, at which `user` listens: the kernel notes who calls listen(2).
class Served {
public:
    Served(const std::filesystem::path& path, uid_t user) {
        address_.sun_family = AF_UNIX;
        path.string().copy(address_.sun_path, sizeof address_.sun_path - 1);
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
        EXPECT_TRUE(as_user(user, [&] { return listen(listener_.get(), 8) == 0; }));
    }
    /// A connection to it.
    FileDescriptor connect() const {
        FileDescriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
        return client;
    }
    /// Bytes that the next client has sent; -1: there is no client.
    ssize_t heard() const {
        const FileDescriptor peer(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        char byte = 0;
        return peer ? std::max<ssize_t>(recv(peer.get(), &byte, 1, MSG_TRUNC), 0) : -1;
    }

private:
    sockaddr_un address_{};
    FileDescriptor listener_{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
};

}  // namespace verbline::test
