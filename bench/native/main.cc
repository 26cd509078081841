// Runs the micro benchmarks of the engine, and prints what they measured as one JSON object.
//
//   native_bench [--seconds S] [--repeats N] [--only THEME]
//
// Every case works for S seconds, once to warm up and then N times; the cases of a theme take
// turns, so that a change of the machine's speed meets all of them. python -m bench.native makes a
// table of it.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.h"

namespace penstock::bench {
namespace {

struct Choices {
  double seconds = 0.2;
  int repeats = 7;
  std::string only;
};

Choices Parse(int argc, char** argv) {
  Choices choices;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (i + 1 == argc) throw std::runtime_error(argument + ": a value was expected after it");
    std::string value = argv[++i];
    if (argument == "--seconds") {
      choices.seconds = std::stod(value);
    } else if (argument == "--repeats") {
      choices.repeats = std::stoi(value);
    } else if (argument == "--only") {
      choices.only = value;
    } else {
      throw std::runtime_error(argument + " is not known; there are --seconds, --repeats, --only");
    }
  }
  if (choices.repeats < 1) throw std::runtime_error("--repeats must be >= 1");
  return choices;
}

struct Measured {
  const Case* which;
  std::vector<double> values;
};

void RunTheme(std::vector<Measured*> cases, const Choices& choices) {
  for (Measured* one : cases) one->which->run(choices.seconds);
  for (int round = 0; round < choices.repeats; ++round) {
    for (Measured* one : cases) one->values.push_back(one->which->run(choices.seconds));
  }
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void Print(const std::vector<Measured>& all) {
  std::printf("{\"compiler\": %s, \"left_out\": [", Quoted(__VERSION__).c_str());
  for (size_t i = 0; i < LeftOut().size(); ++i) {
    std::printf("%s%s", i ? ", " : "", Quoted(LeftOut()[i]).c_str());
  }
  std::printf("],\n \"cases\": [");
  for (size_t i = 0; i < all.size(); ++i) {
    const Case& one = *all[i].which;
    std::printf("%s\n  {\"theme\": %s, \"name\": %s, \"unit\": \"%s\", \"values\": [", i ? "," : "",
                Quoted(one.theme).c_str(), Quoted(one.name).c_str(),
                one.unit == Unit::kNanoseconds ? "ns" : "GB/s");
    for (size_t j = 0; j < all[i].values.size(); ++j) {
      std::printf("%s%.6g", j ? ", " : "", all[i].values[j]);
    }
    std::printf("]}");
  }
  std::printf("\n]}\n");
}

void Main(int argc, char** argv) {
  const Choices choices = Parse(argc, argv);
  std::vector<Measured> all;
  for (const Case& one : Cases()) {
    if (choices.only.empty() || one.theme == choices.only) all.push_back({&one, {}});
  }
  if (all.empty()) throw std::runtime_error("there is no theme " + choices.only);
  for (Measured& first : all) {
    if (!first.values.empty()) continue;
    std::vector<Measured*> theme;
    for (Measured& one : all) {
      if (one.which->theme == first.which->theme) theme.push_back(&one);
    }
    std::fprintf(stderr, "%s ...\n", first.which->theme.c_str());
    RunTheme(std::move(theme), choices);
  }
  Print(all);
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  try {
    penstock::bench::Main(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "native_bench: %s\n", error.what());
    return 1;
  }
}
