// Walks up the folders of a control group, of either version.
#include "runtime/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace penstock {
namespace {

// From mount + path up to mount. Inside a container the host's path may not exist under the mount;
// then the missing folders are ignored and the mount itself decides.
double Walk(const std::string& mount, std::string path, double (*limit)(const std::string&)) {
  double least = limit(mount);
  while (path.size() > 1) {
    least = std::min(least, limit(mount + path));
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  return least;
}

bool HasController(const std::string& list, const std::string& name) {
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) {
    if (item == name) return true;
  }
  return false;
}

}  // namespace

std::string FirstLineOf(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

double LeastInCgroup(const std::string& membership_file, const std::string& mount,
                     const std::string& controller, double (*v2)(const std::string&),
                     double (*v1)(const std::string&)) {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream in(membership_file);
  for (std::string line; std::getline(in, line);) {  // "id:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, Walk(mount, path, v2));
    } else if (HasController(controllers, controller)) {
      least = std::min(least, Walk(mount + "/" + controllers, path, v1));
      least = std::min(least, Walk(mount + "/" + controller, path, v1));
    }
  }
  return least;
}

}  // namespace penstock
