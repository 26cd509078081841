// Starting a program that is given some of this process's files.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock {

// Throws an Error of `errno`, with advice.
[[noreturn]] void ThrowRefused(const char* what);

// A file of this process that is closed unless it is given away. Throws an Error for -1.
class OpenedFile {
 public:
  OpenedFile(int file, const char* what);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// Both ends of a socket of that type (SOCK_STREAM, ...).
std::pair<int, int> MakeSockets(int type);

// Starts a program, and returns its id: in a process group of its own, so that Ctrl-C in a terminal
// reaches this process only; with no input; with the environment of this process and
// LibraryThreadLimits; with files under new numbers, which are all below `kFirstOwnFile`. Throws an
// Error when the system refuses.
int SpawnProgram(const std::vector<std::string>& command,
                 const std::vector<std::pair<int, int>>& files_and_numbers);
inline constexpr int kFirstOwnFile = 14;

}  // namespace penstock
