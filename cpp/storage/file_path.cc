// Path checks and link resolution.
#include "storage/file_path.h"

#include <filesystem>

#include "data/error.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;

fs::path PathOf(const std::string& text) { return fs::path(text); }

std::string TextOf(const fs::path& path) {
  auto text = path.u8string();
  return std::string(text.begin(), text.end());
}

}  // namespace

void RequireWhole(const std::string& path) {
  size_t at = path.find('\0');
  if (at == std::string::npos) return;
  throw Error(ErrorKind::kInvalidArgument,
              "a path without null characters was expected, got one after '{}'",
              path.substr(0, at));
}

void ThrowNotPlain(const std::string& path) {
  Origin origin;
  origin.file = std::make_shared<const std::string>(path);
  throw Error(ErrorKind::kData,
              "a file in the folder itself was expected, got a link, a folder, a pipe or a device; "
              "put a copy of the file there")
      .At(std::move(origin));
}

bool IsPlainName(std::string_view name) {
  constexpr std::string_view kSpecial("/\\:\0", 4);
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(kSpecial) == std::string_view::npos;
}

std::string WithoutLink(const std::string& path) {
  fs::path at = PathOf(path);
  std::error_code failed;
  for (int links = 0; links < kMostLinks && fs::is_symlink(at, failed); ++links) {
    fs::path to = fs::read_symlink(at, failed);
    if (failed) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return TextOf(at);
}

}  // namespace penstock
