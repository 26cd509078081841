// What a fuzz target is: where its inputs come from, and what is done with one.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace penstock::fuzz {

// The draws of one run: the same for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Bits() { return engine_(); }
  // From 0 to bound - 1; 0 for a bound of 0.
  size_t Below(size_t bound) { return bound ? static_cast<size_t>(engine_() % bound) : 0; }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Target {
  const char* name;
  // Good inputs; `tests` is the folder of the project's tests.
  std::function<std::vector<std::string>(const std::string& tests)> seeds;
  // Throws an Error for an input that is refused; anything else that goes wrong ends the program.
  std::function<void(const std::string& input, Random& random)> run;
  // Makes checksums right again, because a wrong one would keep a mutation from being looked at;
  // may be empty.
  std::function<void(std::string& input)> repair = nullptr;
  // Changes that know the form of inputs, beside those of bytes; may be empty.
  std::function<void(std::string& input, Random& random)> change = nullptr;
};

std::vector<Target>& AllTargets();

struct RegisterTarget {
  explicit RegisterTarget(Target target) { AllTargets().push_back(std::move(target)); }
};

// Ends the program with the input in a file, unless `holds`.
void Require(bool holds, const char* what);

// One to some changes of bytes; `other` is another input to take bytes from.
void Mutate(std::string& input, const std::string& other, Random& random);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);
// A folder for the files of this run, which is removed at its end.
const std::string& TemporaryFolder();

}  // namespace penstock::fuzz
