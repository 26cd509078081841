// The named arguments of a dataset or an operation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compute/function.h"
#include "data/element.h"
#include "data/spec.h"

namespace penstock {

class Args {
 public:
  using Foreign = std::shared_ptr<void>;  // an object of the foreign runtime
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string,
                             std::vector<int64_t>, PlannedFunction, std::shared_ptr<const Element>,
                             std::shared_ptr<const ElementSpec>, Foreign>;

  explicit Args(std::string owner = "") : owner_(std::move(owner)) {}
  void Set(const std::string& name, Value value) { values_[name] = std::move(value); }
  bool Has(const std::string& name) const;  // given, and not None
  const std::map<std::string, Value>& values() const { return values_; }
  // The name of the dataset or operation they belong to.
  const std::string& owner() const { return owner_; }
  Args OwnedBy(const std::string& owner) const {
    Args args = *this;
    args.owner_ = owner;
    return args;
  }

  // Each throws a TypeError that names owner and argument if the value is missing or has another
  // type.
  bool Bool(const std::string& name) const { return Get<bool>(name, "a bool"); }
  int64_t Int(const std::string& name) const { return Get<int64_t>(name, "an int"); }
  int64_t Int(const std::string& name, int64_t otherwise) const {
    return Has(name) ? Int(name) : otherwise;
  }
  double Float(const std::string& name) const;
  const std::string& Text(const std::string& name) const { return Get<std::string>(name, "a str"); }
  const std::vector<int64_t>& Ints(const std::string& name) const {
    return Get<std::vector<int64_t>>(name, "a sequence of ints");
  }
  const PlannedFunction& Callable(const std::string& name) const {
    return Get<PlannedFunction>(name, "a function");
  }
  const Element& Nested(const std::string& name) const {
    return *Get<std::shared_ptr<const Element>>(name, "a value");
  }
  const ElementSpec& Spec(const std::string& name) const {
    return *Get<std::shared_ptr<const ElementSpec>>(name, "a specification");
  }
  const Foreign& Object(const std::string& name) const { return Get<Foreign>(name, "an object"); }

  // An int of at least `low`; otherwise a ValueError: "batch: batch_size must be >= 1, got 0".
  int64_t IntAtLeast(const std::string& name, int64_t low) const;
  int64_t IntAtLeast(const std::string& name, int64_t low, int64_t otherwise) const {
    return Has(name) ? IntAtLeast(name, low) : otherwise;
  }

 private:
  template <typename T>
  const T& Get(const std::string& name, const char* expected) const {
    auto found = values_.find(name);
    if (found != values_.end()) {
      if (auto* value = std::get_if<T>(&found->second)) return *value;
    }
    ThrowWrongType(name, expected);
  }
  [[noreturn]] void ThrowWrongType(const std::string& name, const char* expected) const;

  std::string owner_;
  std::map<std::string, Value> values_;
};

}  // namespace penstock
