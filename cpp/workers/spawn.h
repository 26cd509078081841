// Starts a program with some of this process's files.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace penstock {

// Throws an Error for `errno`, with advice.
[[noreturn]] void ThrowRefused(const char* what);

// Owns a file of this process, and closes it unless released. Throws an Error for -1.
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

// A socket pair of the given type (SOCK_STREAM, ...).
std::pair<int, int> MakeSockets(int type);

// Starts a program, and returns its process id. The program has its own process group, so that
// Ctrl-C in a terminal reaches this process only. It has no input, the environment of this process
// with LibraryThreadLimits, and the files under new numbers, all below `kFirstOwnFile`. Throws an
// Error if the system refuses.
int SpawnProgram(const std::vector<std::string>& command,
                 const std::vector<std::pair<int, int>>& files_and_numbers);
inline constexpr int kFirstOwnFile = 14;

}  // namespace penstock
