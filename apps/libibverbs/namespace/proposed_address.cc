// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/proposed_address.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include "datapath/link/gid_table.h"
#include "datapath/wire/bytes.h"

namespace verbline::verbs {
namespace {

std::filesystem::path address_file(const std::filesystem::path& root) {
    return root / "infiniband_verbs/.address";
}

}  // namespace

wire::MacAddress random_mac() {
    wire::MacAddress mac;
    std::random_device random;
    for (auto& byte : mac.bytes) byte = static_cast<std::byte>(random());
    mac.bytes[0] = std::byte{2};
    return mac;
}

wire::Guid guid_of(const wire::MacAddress& mac) {
    return wire::Guid{wire::load64(link::link_local_gid(mac).bytes, 8)};
}

Result<void> propose_address(const std::filesystem::path& root, const wire::MacAddress& mac) {
    const auto file = address_file(root);
    const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (out && write(out.get(), mac.bytes.data(), mac.bytes.size()) == static_cast<ssize_t>(mac.bytes.size()))
        return {};
    return failure(errno, fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
}

std::optional<TakenAddress> take_proposed_address(const std::filesystem::path& root) {
    TakenAddress taken{.mac = {}, .lock = FileDescriptor(open(address_file(root).c_str(), O_RDONLY | O_CLOEXEC))};
    if (!taken.lock || flock(taken.lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    auto& bytes = taken.mac.bytes;
    if (read(taken.lock.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return std::nullopt;
    return taken;
}

}  // namespace verbline::verbs
