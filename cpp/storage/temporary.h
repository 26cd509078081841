// A file or folder that appears under its final name only when it is complete.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/fork.h"
#include "storage/our_files.h"

namespace penstock {

// Created next to its target, and locked while its process lives (the system releases the lock of a
// dead process). Removed unless it is committed. The constructor first removes what dead writers of
// the same target left behind; other files are never removed or replaced.
class Temporary {
 public:
  // Also creates missing parent folders. If the target is a link, follows it and keeps it. Throws
  // an Error that names the file, for example if the target exists and is not ours. `stage`: for
  // errors.
  Temporary(std::string stage, const std::string& target, OurKind kind);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }
  // Renames the temporary to the target; its contents must already be synced to disk. If our own
  // file or folder is there, replaces it in one step (a folder in two, out and in, if the system
  // cannot exchange them); otherwise throws an Error and leaves it. For a URL, uploads instead: a
  // file as one object, a folder with its list last.
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
  std::string target_;  // local; for a remote target, where the result is prepared
  std::string path_;
  OurKind kind_;
  int lock_ = -1;
  bool committed_ = false;
  uint64_t generation_ = ForkGeneration();
};

[[noreturn]] void ThrowTaken(std::string_view stage, const std::string& target, OurKind kind);
// Throws if the target contains something that the stage must not replace.
void RequireReplaceable(std::string_view stage, const std::string& target, OurKind kind);

// The target itself; for a URL, a local path where the upload is prepared.
std::string LocalTarget(const std::string& target);
// A folder for this user only, inside the folder for temporary files.
std::string StagingFolder();

// Appends to a new file.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const void* data, size_t size);
  // Waits until everything is on disk.
  void Close();
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_;
  int64_t size_ = 0;
};

}  // namespace penstock
