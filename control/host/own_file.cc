// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/own_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/directory.h"

namespace verbline::host {
namespace {

constexpr mode_t usable = 0600, proposed = 0;  ///< modes: a file is used when its maker has found no other
constexpr int most_tries = 32;
constexpr time_t forgotten_after = 10;  ///< s: the maker of a file that is still proposed then has died

bool ours(const struct stat& file) {
    return S_ISREG(file.st_mode) && file.st_uid == geteuid();
}
bool ready(const struct stat& file) {
    return ours(file) && (file.st_mode & 0777) == usable;
}

class Directory {
public:
    Directory(std::filesystem::path path, const std::string& prefix)
        : path_(std::move(path)), prefix_(prefix), usual_(fmt::format("{}{}", prefix, geteuid())) {}

    /// Of those that are ours the first that can be opened, the usual one before the others: all programs agree.
    FileDescriptor find() const {
        for (const auto& name : names()) {
            FileDescriptor file(::open((path_ / name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
            struct stat found{};
            if (file && fstat(file.get(), &found) == 0 && ready(found)) return file;
        }
        return {};
    }

    /// An error: it cannot be made. Empty: another program makes one as well, or has made it.
    Result<FileDescriptor> make() const {
        auto name = usual_;
        auto file = create(name);
        if (!file && errno == EEXIST) {
            std::random_device random;
            name = fmt::format("{}-{:08x}{:08x}", usual_, random(), random());
            file = create(name);
        }
        if (!file) return failure(errno, fmt::format("{}: {}", (path_ / name).string(), std::strerror(errno)));
        if (names() != std::vector{name}) {
            unlink((path_ / name).c_str());
            return FileDescriptor();
        }
        struct stat made{};
        if (fchmod(file.get(), usable) != 0 || fstat(file.get(), &made) != 0 || made.st_nlink == 0) file = {};
        return file;
    }

private:
    FileDescriptor create(const std::string& name) const {
        return FileDescriptor(
            ::open((path_ / name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, proposed));
    }

    /// Of our files, those proposed included.
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for_each_entry(path_, [&](std::string name) {
            const auto path = path_ / name;
            struct stat file{};
            if (!name.starts_with(prefix_) || lstat(path.c_str(), &file) != 0 || !ours(file)) return;
            if (!ready(file) && file.st_mtime + forgotten_after < time(nullptr))
                unlink(path.c_str());
            else
                found.push_back(std::move(name));
        });
        std::ranges::sort(found, {}, [this](const auto& name) { return std::pair(name != usual_, name); });
        return found;
    }

    std::filesystem::path path_;
    std::string prefix_, usual_;
};

}  // namespace

Result<FileDescriptor> open_own_file(const std::filesystem::path& directory, const std::string& prefix) {
    const Directory place(directory, prefix);
    std::minstd_rand random(std::random_device{}());
    for (int tried = 0; tried < most_tries; ++tried) {
        if (auto file = place.find()) return file;
        auto made = place.make();
        if (!made || *made) return made;
        usleep(static_cast<useconds_t>(random() % 1000u));  // for the others to come to an end
    }
    return failure(EAGAIN,
                   fmt::format("{}: others make and remove files there; try again", (directory / prefix).string()));
}

}  // namespace verbline::host
