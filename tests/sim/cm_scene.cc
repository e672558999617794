// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_scene.h"

#include "tests/sim/cm_node.h"

namespace verbline::sim {

CmScene::CmScene(Seed seed, bool with_trace) : random(seed), plan(make_cm_plan(random)), trace(with_trace) {}

CmScene::~CmScene() {
    for (auto& user : users) user.endpoint.reset();
}

CmUser& CmScene::add_user(unsigned node, CmWord::Kind kind) {
    users.push_back({.number = static_cast<unsigned>(users.size() + 1), .node = node, .word = CmWord(kind)});
    return users.back();
}

}  // namespace verbline::sim
