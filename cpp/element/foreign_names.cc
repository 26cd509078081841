// The two tables of foreign names.
#include "element/foreign_names.h"

#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "runtime/fork.h"

namespace penstock {
namespace {

using Sought = std::tuple<Structure::Kind, std::string, std::vector<std::string>>;

struct Names {
  std::mutex mutex;  // a leaf lock
  std::unordered_map<const void*, std::string> of;
  std::map<Sought, const void*> found;
};

Names& TheNames() {
  // Leaked: structures live as long as the process.
  static Names& names = *[] {
    auto* made = new Names;
    HoldAcrossFork(made->mutex);
    return made;
  }();
  return names;
}

thread_local int64_t t_misses = 0;

}  // namespace

void NameForeign(Structure::Kind kind, const void* foreign, std::string name,
                 const std::vector<std::string>& fields) {
  Names& names = TheNames();
  std::lock_guard lock(names.mutex);
  if (!name.empty()) names.found.emplace(Sought(kind, name, fields), foreign);
  names.of.emplace(foreign, std::move(name));
}

bool ForeignIsNamed(const void* foreign) {
  Names& names = TheNames();
  std::lock_guard lock(names.mutex);
  return names.of.count(foreign) > 0;
}

std::string ForeignName(const void* foreign) {
  if (!foreign) return "";
  Names& names = TheNames();
  std::lock_guard lock(names.mutex);
  auto found = names.of.find(foreign);
  return found == names.of.end() ? "" : found->second;
}

const void* FindForeign(Structure::Kind kind, const std::string& name,
                        const std::vector<std::string>& fields) {
  {
    Names& names = TheNames();
    std::lock_guard lock(names.mutex);
    auto found = names.found.find({kind, name, fields});
    if (found != names.found.end()) return found->second;
  }
  const void* foreign = g_find_foreign ? g_find_foreign(kind, name, fields) : nullptr;
  if (foreign) {
    Names& names = TheNames();
    std::lock_guard lock(names.mutex);
    names.found.emplace(Sought(kind, name, fields), foreign);
  } else {
    ++t_misses;
  }
  return foreign;
}

int64_t ForeignMisses() { return t_misses; }

}  // namespace penstock
