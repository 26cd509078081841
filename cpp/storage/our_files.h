// What penstock itself has written: only that may be replaced or removed.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

constexpr const char* kManifestName = "penstock-dataset.txt";
// The first bytes of a file of rows and the last ones; "\r\n" and "\x1a" show a transfer that took
// it for text.
constexpr std::string_view kChunkMagic = "PSROWS\r\n";
constexpr std::string_view kChunkEndMagic = "\x1aPSROWE\n";
constexpr const char* kTemporaryMark = ".tmp-";
// After the name of a temporary folder: the former target, which the folder replaces.
constexpr const char* kAsideMark = "-old";

enum class OurKind { kFile, kFolder };  // a file of rows; a folder with a list of such files
enum class Occupant { kNothing, kOurs, kForeign };

// "shard-00007.rows".
std::string ShardName(int64_t number);
// Of a file that a saved dataset consists of, or that locks its folder while it is written.
bool IsNameInOurFolder(std::string_view name);
// Whether a name is `target`, the mark and the numbers that a Temporary has there; `aside`: and the
// mark of what was moved aside.
bool IsTemporaryName(std::string_view name, std::string_view target, bool* aside);
// By the begin and the end of a file, either of which may be damaged. An empty file counts as ours,
// because nothing is lost with it.
bool IsOurContent(std::string_view begin, std::string_view end);

// What is there, without following a link. A folder is ours when all names in it are. `complete`:
// and it must have a list, or nothing at all, as the target of a save.
Occupant LookAt(const std::string& path, OurKind kind, bool complete);
// Removes a file, or the files of our names in a folder and then the folder: when something else
// has come into it, both stay.
void RemoveOurs(const std::string& path, OurKind kind);
// Removes the temporaries beside a target that dead processes have left, and puts back what one of
// them has moved aside. What is foreign, locked or of another owner stays.
void RemoveAbandoned(const std::string& target);

}  // namespace penstock
