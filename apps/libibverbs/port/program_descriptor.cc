// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/program_descriptor.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace verbline::verbs {

ProgramDescriptor::ProgramDescriptor(FileDescriptor ours, bool close_on_exec) : ours_(std::move(ours)) {
    if (ours_) programs_ = fcntl(ours_.get(), close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, /* from */ 0);
}

ProgramDescriptor::~ProgramDescriptor() {
    if (programs_ >= 0 && !program_closes_ && intact()) close(programs_);
}

bool ProgramDescriptor::intact() const {
    const auto self = getpid();
    const auto different = syscall(SYS_kcmp, self, self, KCMP_FILE, programs_, ours_.get());
    if (different >= 0 || errno == EBADF) return different == 0;
    // kcmp is unavailable (CONFIG_KCMP, seccomp). Files of our kinds share one inode with each other, but not with data
    // files and sockets.
    struct stat theirs{}, our_own{};
    return fstat(programs_, &theirs) == 0 && fstat(ours_.get(), &our_own) == 0 && theirs.st_dev == our_own.st_dev &&
           theirs.st_ino == our_own.st_ino;
}

}  // namespace verbline::verbs
