// Which of the two a call goes to.
#include "python/debugged.h"

#include <utility>

#include "engine/session.h"

namespace penstock {
namespace {

class Debugged final : public Function {
 public:
  Debugged(FunctionPtr program, FunctionPtr plain)
      : program_(std::move(program)), plain_(std::move(plain)) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Now().Map(std::move(rows), info, out);
  }
  bool Test(const Element& element, const CallInfo& info) override {
    return Now().Test(element, info);
  }
  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    return Now().Open(element, info);
  }
  MaybeSpec opened_spec() const override { return program_->opened_spec(); }
  // A debugged run calls it in the thread that asks, which may call Python.
  bool needs_lock() const override { return program_->needs_lock(); }

 private:
  Function& Now() const {
    const Session* session = Session::Serving::current();
    return session && session->options().debug ? *plain_ : *program_;
  }

  const FunctionPtr program_;
  const FunctionPtr plain_;
};

}  // namespace

FunctionPtr MakeDebugged(FunctionPtr program, FunctionPtr plain) {
  return std::make_shared<Debugged>(std::move(program), std::move(plain));
}

}  // namespace penstock
