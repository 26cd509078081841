// What a fuzz target is: where its inputs come from and what is done with each.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace penstock::fuzz {

// The random draws of one run; the same seed gives the same draws.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Bits() { return engine_(); }
  // From 0 to bound - 1; 0 if the bound is 0.
  size_t Below(size_t bound) { return bound ? static_cast<size_t>(engine_() % bound) : 0; }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Target {
  const char* name;
  // Valid inputs; `tests` is the folder of the project's tests.
  std::function<std::vector<std::string>(const std::string& tests)> seeds;
  // Throws an Error for an input that it refuses; anything else that goes wrong ends the program.
  std::function<void(const std::string& input, Random& random)> run;
  // Corrects the checksums of a mutated input, because a wrong one would hide the mutation from the
  // code under test; may be empty.
  std::function<void(std::string& input)> repair = nullptr;
  // Mutations that know the format of the inputs, in addition to those of bytes; may be empty.
  std::function<void(std::string& input, Random& random)> change = nullptr;
};

std::vector<Target>& AllTargets();

struct RegisterTarget {
  explicit RegisterTarget(Target target) { AllTargets().push_back(std::move(target)); }
};

// Unless `holds`, writes the input to a file and ends the program.
void Require(bool holds, const char* what);

// Makes one or more changes of bytes; `other` is another input to take bytes from.
void Mutate(std::string& input, const std::string& other, Random& random);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);
// A folder for the files of this run, removed at its end.
const std::string& TemporaryFolder();

}  // namespace penstock::fuzz
