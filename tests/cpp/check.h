// A one-page test framework: TEST registers a function, CHECK counts failures.
#pragma once

#include <cstdio>
#include <functional>
#include <sstream>
#include <vector>

namespace penstock::testing {

struct Test {
  const char* file;
  const char* name;
  void (*body)();
};

std::vector<Test>& AllTests();
void Report(bool passed, const char* file, int line, const char* text);

struct Registration {
  Registration(const char* file, const char* name, void (*body)()) {
    AllTests().push_back({file, name, body});
  }
};

template <class A, class B>
void ReportEqual(const A& a, const B& b, const char* file, int line, const char* text) {
  if (a == b) return Report(true, file, line, text);
  std::ostringstream message;
  message << text << ": " << a << " vs " << b;
  Report(false, file, line, message.str().c_str());
}

}  // namespace penstock::testing

#define TEST(name)                                                                           \
  static void name();                                                                        \
  static const ::penstock::testing::Registration registration_##name(__FILE__, #name, name); \
  static void name()
#define CHECK(condition) \
  ::penstock::testing::Report(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(a, b) ::penstock::testing::ReportEqual(a, b, __FILE__, __LINE__, #a " == " #b)
