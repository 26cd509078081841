// What temporaries on all systems share: the check of targets, and remote targets.
#include "storage/temporary.h"

#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "data/error.h"
#include "runtime/blocking.h"
#include "storage/crc32c.h"
#include "storage/file.h"
#include "storage/remote.h"

namespace penstock {
namespace {

std::vector<std::string> NamesAt(const std::string& url) {
  std::istringstream lines(RemoteNames(url));
  std::vector<std::string> names;
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  return names;
}

Occupant LookAtRemoteFile(const std::string& url) {
  try {
    auto file = OpenFile(url, {.throughout = false});
    const int64_t size = file->size();
    char begin[kChunkMagic.size()], end[kChunkEndMagic.size()];
    const size_t got = file->Read(0, begin, sizeof(begin));
    const int64_t last = size - static_cast<int64_t>(sizeof(end));
    const size_t tail = last < 0 ? 0 : file->Read(last, end, sizeof(end));
    return IsOurContent({begin, got}, {end, tail}) ? Occupant::kOurs : Occupant::kForeign;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    return Occupant::kNothing;
  }
}

Occupant LookAtRemoteFolder(const std::string& url) {
  const std::vector<std::string> names = NamesAt(url);
  if (names.empty()) return Occupant::kNothing;
  bool listed = false;
  for (const std::string& name : names) {
    if (!IsNameInOurFolder(name)) return Occupant::kForeign;
    listed = listed || name == kManifestName;
  }
  // Without a list, these are files that another writer is uploading, or left behind.
  return listed ? Occupant::kOurs : Occupant::kNothing;
}

Occupant LookAtTarget(const std::string& target, OurKind kind) {
  if (!IsRemote(target)) return LookAt(target, kind, true);
  return kind == OurKind::kFile ? LookAtRemoteFile(target) : LookAtRemoteFolder(target);
}

}  // namespace

std::string LocalTarget(const std::string& target) {
  if (!IsRemote(target)) return target;
  return Format("{}/upload-{}-{}", StagingFolder(), Crc32c(target.data(), target.size()),
                target.size());
}

// Objects cannot be renamed: while a folder is replaced it has no list, and so is not a dataset.
void Temporary::Upload() {
  LeaveForeignLock();
  RequireReplaceable(stage_, url_, kind_);
  if (kind_ == OurKind::kFile) {
    UploadRemote(path_, url_);
  } else {
    const std::vector<std::string> former = NamesAt(url_);
    if (!former.empty()) RemoveRemote(url_ + "/" + kManifestName);
    std::set<std::string> current;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      current.insert(entry.path().filename().string());
    }
    for (const std::string& name : current) {
      if (name != kManifestName) UploadRemote(path_ + "/" + name, url_ + "/" + name);
    }
    UploadRemote(path_ + "/" + kManifestName, url_ + "/" + kManifestName);
    for (const std::string& name : former) {
      if (!current.contains(name)) RemoveRemote(url_ + "/" + name);
    }
  }
  RemoveOurs(path_, kind_);
  committed_ = true;
}

void ThrowTaken(std::string_view stage, const std::string& target, OurKind kind) {
  std::string_view what = kind == OurKind::kFile
                              ? "is no cache; choose another name or remove it"
                              : "is no saved dataset, or has other files in it; choose another "
                                "path or remove it";
  throw Error::FromErrno(EEXIST, target, Format("{}: {} exists and {}", stage, target, what));
}

void RequireReplaceable(std::string_view stage, const std::string& target, OurKind kind) {
  if (LookAtTarget(target, kind) == Occupant::kForeign) ThrowTaken(stage, target, kind);
}

}  // namespace penstock
