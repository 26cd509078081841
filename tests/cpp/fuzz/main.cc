// Runs fuzz targets for a fixed time or number of inputs, first on valid inputs, then on mutated
// ones. TESTS is the folder of the tests.
//
//   penstock_fuzz [--seconds S | --executions N] [--seed N] [--only NAME] TESTS
//   penstock_fuzz --only NAME --file INPUT TESTS     one input, for example of a crash
//   penstock_fuzz --seeds FOLDER [--only NAME] TESTS     writes the valid inputs to FOLDER/NAME
//
// A crash, a leak, a failed check or an input that takes too long ends the program and leaves the
// input in fuzz-NAME.bin. The inputs in TESTS/cpp/fuzz/corpus/NAME are tried and mutated in every
// run.
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/error.h"
#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>

// Whatever a file of a few kilobytes makes the engine allocate must stay far below this.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=2048:detect_stack_use_after_return=0";
}
#endif

namespace penstock::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

// Limits of processor time, and of wall-clock time for an input that waits for ever; the second is
// longer because the machine may be loaded.
constexpr unsigned kSecondsPerInput = 10;
constexpr unsigned kWaitPerInput = 60;

const char* current_target = nullptr;  // null: no input is being tried
std::string current_input;

// For signal handlers: nothing here allocates.
void Say(const char* text) { (void)!write(2, text, std::strlen(text)); }

void KeepInput() {
  if (!current_target) return;
  char name[64];
  std::snprintf(name, sizeof name, "fuzz-%s.bin", current_target);
  if (std::FILE* file = std::fopen(name, "wb")) {
    std::fwrite(current_input.data(), 1, current_input.size(), file);
    std::fclose(file);
  }
  Say("fuzz: the input is kept in ");
  Say(name);
  Say("\n");
}

void OnAlarm(int) {
  Say("fuzz: an input takes too long: ");
  if (current_target) Say(current_target);
  Say("\n");
  KeepInput();
  _exit(3);
}

void SetLimit(bool on) {
  itimerval limit{};
  limit.it_value.tv_sec = on ? kSecondsPerInput : 0;
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(on ? kWaitPerInput : 0);
}

struct Counts {
  int64_t taken = 0;
  int64_t refused = 0;
  std::string why;  // why the last one was refused
};

void RunOne(const Target& target, std::string input, Random& random, Counts& counts) {
  current_target = target.name;
  current_input = std::move(input);
  SetLimit(true);
  try {
    target.run(current_input, random);
    ++counts.taken;
  } catch (const Error& error) {
    Require(!error.message().empty(), "an error must say something");
    ++counts.refused;
    counts.why = error.message();
  }
  SetLimit(false);
}

std::vector<std::string> Kept(const std::string& tests, const char* name) {
  std::vector<std::string> inputs;
  std::filesystem::path folder = std::filesystem::path(tests) / "cpp" / "fuzz" / "corpus" / name;
  if (!std::filesystem::exists(folder)) return inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    inputs.push_back(ReadFile(entry.path().string()));
  }
  std::ranges::sort(inputs);
  return inputs;
}

// A run ends at the first limit that it reaches.
struct Limits {
  double seconds = 60;
  int64_t executions = 0;  // 0: no limit
};

void RunTarget(const Target& target, const std::string& tests, const Limits& limits,
               uint64_t seed) {
  Random random(seed);
  Counts counts;
  std::vector<std::string> inputs = target.seeds(tests);
  Require(!inputs.empty(), "a target must have good inputs");
  const auto start = Clock::now();
  for (const std::string& input : inputs) {
    RunOne(target, input, random, counts);
    Require(counts.refused == 0, ("a good input was refused: " + counts.why).c_str());
  }
  for (const std::string& input : Kept(tests, target.name)) {
    RunOne(target, input, random, counts);
    inputs.push_back(input);
  }
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto goes_on = [&] {
    if (limits.executions > 0) return counts.taken + counts.refused < limits.executions;
    return elapsed() < limits.seconds;
  };
  while (goes_on()) {
    std::string input = inputs[random.Below(inputs.size())];
    if (target.change && random.OneIn(2)) {
      target.change(input, random);
    } else {
      Mutate(input, inputs[random.Below(inputs.size())], random);
      if (target.repair && !random.OneIn(4)) target.repair(input);
    }
    RunOne(target, std::move(input), random, counts);
  }
  std::printf("%-18s %5.1f s %8lld taken %8lld refused\n", target.name, elapsed(),
              static_cast<long long>(counts.taken), static_cast<long long>(counts.refused));
  std::fflush(stdout);
}

void WriteSeeds(const Target& target, const std::string& tests, const std::string& folder) {
  const std::filesystem::path own = std::filesystem::path(folder) / target.name;
  std::filesystem::create_directories(own);
  int number = 0;
  for (const std::string& input : target.seeds(tests)) {
    WriteFile((own / ("seed-" + std::to_string(number++))).string(), input);
  }
}

int Main(int argc, char** argv) {
  Limits limits;
  uint64_t seed = 1;
  std::string only, file, tests, folder;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    bool more = i + 1 < argc;
    if (argument == "--seconds" && more) {
      limits.seconds = std::stod(argv[++i]);
    } else if (argument == "--executions" && more) {
      limits.executions = std::stoll(argv[++i]);
    } else if (argument == "--seeds" && more) {
      folder = argv[++i];
    } else if (argument == "--seed" && more) {
      seed = std::stoull(argv[++i]);
    } else if (argument == "--only" && more) {
      only = argv[++i];
    } else if (argument == "--file" && more) {
      file = argv[++i];
    } else {
      tests = argument;
    }
  }
  std::signal(SIGALRM, OnAlarm);
  std::signal(SIGPROF, OnAlarm);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(KeepInput);
#endif
  std::vector<Target> targets = AllTargets();
  std::erase_if(targets, [&](const Target& t) { return !only.empty() && only != t.name; });
  std::ranges::sort(targets, {}, [](const Target& target) { return std::string(target.name); });
  if (tests.empty() || targets.empty()) {
    std::fprintf(stderr,
                 "usage: penstock_fuzz [--seconds S | --executions N] [--seed N] [--only NAME] "
                 "TESTS\n");
    return 2;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  limits.seconds /= static_cast<double>(targets.size());
  limits.executions = (limits.executions + static_cast<int64_t>(targets.size()) - 1) /
                      static_cast<int64_t>(targets.size());
  for (const Target& target : targets) {
    if (!folder.empty()) {
      WriteSeeds(target, tests, folder);
    } else if (!file.empty()) {
      Random random(seed);
      Counts counts;
      RunOne(target, ReadFile(file), random, counts);
    } else {
      RunTarget(target, tests, limits, seed);
    }
  }
  current_target = nullptr;
  std::filesystem::remove_all(TemporaryFolder());
  return 0;
}

}  // namespace

std::vector<Target>& AllTargets() {
  static std::vector<Target> targets;
  return targets;
}

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s: %s\n", current_target ? current_target : "set-up", what);
  KeepInput();
  _exit(1);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  if (!file) throw Error(ErrorKind::kNotFound, "{}: cannot be read", path);
  return content.str();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

const std::string& TemporaryFolder() {
  static const std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "penstock-fuzz-XXXXXX").string();
    Require(mkdtemp(name.data()) != nullptr, "a temporary folder must be made");
    return name;
  }();
  return folder;
}

}  // namespace penstock::fuzz

int main(int argc, char** argv) { return penstock::fuzz::Main(argc, argv); }
