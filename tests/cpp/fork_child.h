// Runs a function of a test in a forked child. Not under TSan, which does not allow threads there.
#pragma once

#include "runtime/event_count.h"  // PENSTOCK_TSAN

#if !defined(PENSTOCK_TSAN)
#define PENSTOCK_TEST_FORK 1

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace penstock {

// The exit status of `body`, or -signal if a signal ended it.
template <class Body>
int InForkChild(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::signal(SIGALRM, SIG_DFL);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace penstock
#endif
