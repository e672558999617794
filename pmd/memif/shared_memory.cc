// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/shared_memory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace verbline::pmd::memif {
namespace {

std::unexpected<Error> failed(const char* what) {
    const int code = errno;
    return failure(code, fmt::format("memif: {}: {}", what, std::strerror(code)));
}

}  // namespace

Result<SharedMemory> SharedMemory::create(std::size_t size) {
    FileDescriptor fd(memfd_create("memif", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) return failed("cannot create shared memory");
    if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return failed("cannot size shared memory");
    if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return failed("cannot seal shared memory");
    return map(std::move(fd), size);
}

Result<SharedMemory> SharedMemory::map(FileDescriptor fd, std::size_t size) {
    struct stat status{};
    if (fstat(fd.get(), &status) != 0) return failed("the peer's memory");
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (size == 0 || static_cast<std::size_t>(status.st_size) < size || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        return failure(EPROTO, "memif: the peer's memory is smaller than it says or may shrink");
    }
    void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return failed("cannot map shared memory");
    return SharedMemory(std::move(fd), {static_cast<std::byte*>(at), size});
}

SharedMemory::~SharedMemory() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace verbline::pmd::memif
