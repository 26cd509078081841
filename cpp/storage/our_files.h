// Files and folders that penstock wrote. Nothing else may be replaced or removed.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

constexpr const char* kManifestName = "penstock-dataset.txt";
// The first and the last bytes of a file of rows. "\r\n" and "\x1a" reveal transfers in text mode.
constexpr std::string_view kChunkMagic = "PSROWS\r\n";
constexpr std::string_view kChunkEndMagic = "\x1aPSROWE\n";
constexpr const char* kTemporaryMark = ".tmp-";
// Appended to the name of a temporary folder for the former target that it replaces.
constexpr const char* kAsideMark = "-old";

enum class OurKind { kFile, kFolder };  // a file of rows; a folder with a list of such files
enum class Occupant { kNothing, kOurs, kForeign };

// "shard-00007.rows".
std::string ShardName(int64_t number);
// Whether a saved dataset may contain a file of this name, including the lock during a write.
bool IsNameInOurFolder(std::string_view name);
// Whether a name is `target`, the mark, and the numbers that Temporary appends. `aside`: whether
// the mark of a former target follows.
bool IsTemporaryName(std::string_view name, std::string_view target, bool* aside);
// Decides by the first and last bytes of a file, either of which may be damaged. An empty file
// counts as ours, because removing it loses nothing.
bool IsOurContent(std::string_view begin, std::string_view end);

// What is at the path, without following a link. A folder is ours if all names in it are.
// `complete`: it must also have a list, or be empty, as the target of a save.
Occupant LookAt(const std::string& path, OurKind kind, bool complete);
// Removes a file, or the files with our names in a folder and then the folder. If other files have
// been added to the folder, they and the folder stay.
void RemoveOurs(const std::string& path, OurKind kind);
// Removes temporaries next to a target that dead processes left behind, and restores a former
// target that one of them moved aside. Foreign files, locked files and files of other users stay.
void RemoveAbandoned(const std::string& target);

}  // namespace penstock
