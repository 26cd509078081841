// A file or folder that appears under its name when it is complete, or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fork.h"
#include "storage/our_files.h"

namespace penstock {

// Made beside its target, locked as long as its process lives (the system takes the lock back from
// a dead one), and removed unless it is committed. Whoever makes one first removes what dead
// writers of the same target have left; nothing of anybody else is ever removed or replaced.
class Temporary {
 public:
  // Makes the folders on the way, too; a link at the target is followed, and stays. Throws an Error
  // that names the file: when something is there that is not ours, among others. `stage`: for
  // errors.
  Temporary(std::string stage, const std::string& target, OurKind kind);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }
  // Uploads it where the target is a URL: a file as one object, of a folder its list last. Renames
  // it to the target; its contents must be on the disk already. What is there is replaced in one
  // step (a folder in two, away and in, where the system cannot exchange them) when it is ours;
  // else an Error, and it stays.
  void Commit();

 private:
  bool Make();
  void Upload();
  bool TryReplace();
  bool ReplaceInTwoSteps();
  void Committed();
  void Unlock();

  std::string stage_;
  std::string url_;     // of a remote target, or ""
  std::string target_;  // on this machine: of a remote one, where it is made
  std::string path_;
  OurKind kind_;
  int lock_ = -1;
  bool committed_ = false;
  uint64_t generation_ = ForkGeneration();
};

[[noreturn]] void ThrowTaken(std::string_view stage, const std::string& target, OurKind kind);
// Throws when something is at the target of a stage that it must not replace.
void RequireReplaceable(std::string_view stage, const std::string& target, OurKind kind);

// The target itself; for a URL a path on this machine, where what shall be uploaded is made.
std::string LocalTarget(const std::string& target);
// A folder for this user alone, in that for temporary files.
std::string StagingFolder();

// Appends to a new file.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const void* data, size_t size);
  // Waits until all of it is on the disk.
  void Close();
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_;
  int64_t size_ = 0;
};

}  // namespace penstock
