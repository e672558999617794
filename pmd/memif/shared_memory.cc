// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/shared_memory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fmt/format.h>

namespace verbline::pmd::memif {
namespace {

std::unexpected<Error> failed(const char* what) {
    const int code = errno;
    return failure(code, fmt::format("memif: {}: {}", what, std::strerror(code)));
}

/// Bytes of the memory's huge pages; 0: it has ordinary ones.
std::size_t huge_page_of(int fd) {
    struct statfs status{};
    const bool huge = fstatfs(fd, &status) == 0 && status.f_type == HUGETLBFS_MAGIC;
    return huge ? static_cast<std::size_t>(status.f_bsize) : 0;
}

/// Seals the memory against holes, and populates those that exist. Needs an existing writable mapping, since the seal
/// forbids new ones.
bool keep_pages(int fd, std::size_t size) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 && fallocate(fd, 0, 0, static_cast<off_t>(size)) == 0;
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
        return failure(EPROTO, "memif: the peer's memory is smaller than stated, or can be truncated");
    }
    const auto huge_page = huge_page_of(fd.get());
    const auto whole = huge_page == 0 ? size : (size + huge_page - 1) / huge_page * huge_page;
    void* const at = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return failed("cannot map shared memory");
    SharedMemory memory(std::move(fd), {static_cast<std::byte*>(at), size}, whole);
    if (huge_page != 0 && !keep_pages(memory.fd(), whole)) return failed("the peer can take its huge pages away");
    return memory;
}

SharedMemory::~SharedMemory() {
    if (mapped_ != 0) munmap(bytes_.data(), mapped_);
}

}  // namespace verbline::pmd::memif
