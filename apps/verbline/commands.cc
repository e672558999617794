// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/devinfo.h"
#include "apps/verbline/gateway.h"
#include "apps/verbline/help_command.h"
#include "apps/verbline/host.h"
#include "apps/verbline/hub.h"
#include "apps/verbline/mcast.h"
#include "apps/verbline/path.h"
#include "apps/verbline/run.h"
#include "apps/verbline/show.h"

namespace verbline::cli {

// A new one: a file of its own, a line here, two in meson.build (the file, the manual page); apps/EXTENDING.md.
std::vector<std::unique_ptr<Command>> all_commands() {
    std::vector<std::unique_ptr<Command>> all;
    all.push_back(make_gateway());
    all.push_back(make_host());
    all.push_back(make_hub());
    all.push_back(make_show());
    all.push_back(make_path());
    all.push_back(make_mcast());
    all.push_back(make_run());
    all.push_back(make_devinfo());
    all.push_back(make_help());
    return all;
}

}  // namespace verbline::cli
