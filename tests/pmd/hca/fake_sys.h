// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A directory in place of /sys, in which the kernel describes an IPoIB interface.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace verbline::test {

class FakeSys {
public:
    FakeSys() {
        auto name = (std::filesystem::temp_directory_path() / "verbline-sys-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    FakeSys(const FakeSys&) = delete;
    FakeSys& operator=(const FakeSys&) = delete;
    ~FakeSys() { std::filesystem::remove_all(path_); }

    const std::filesystem::path& path() const { return path_; }
    void write(const std::filesystem::path& file, std::string_view line) const {
        std::filesystem::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << line << '\n';
    }
    /// Of port 1 of a device, with the queue pair number `number`, in partition 0x8001.
    void add_interface(const std::string& name, const std::string& device, unsigned number) const {
        const auto at = std::filesystem::path("class/net") / name;
        write(at / "type", "32");
        write(at / "dev_port", "0");
        write(at / "ifindex", "7");
        write(at / "pkey", "0x8001");
        write(at / "address", fmt::format("00:{:02x}:{:02x}:{:02x}:fe:80:00:00:00:00:00:00:00:02:00:ff:fe:00:00:01",
                                          number >> 16, number >> 8 & 0xff, number & 0xff));
        std::filesystem::create_directories(path_ / at / "device" / "infiniband" / device);
    }

private:
    std::filesystem::path path_;
};

}  // namespace verbline::test
