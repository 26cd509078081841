// group_by_window and bucket_by_sequence_length: elements of one key are gathered, and so many of
// them become a dataset.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "pipeline/dataset_leaf.h"
#include "pipeline/held_rows.h"
#include "pipeline/input.h"
#include "pipeline/registry.h"
#include "transforms/children.h"
#include "transforms/group_key.h"

namespace penstock {
namespace {

struct Grouping {
  FunctionPtr key;
  const char* key_name = "key_func";
  int64_t size = 0;                 // of the windows of every key; or
  FunctionPtr size_func;            // of those of a key; or
  std::vector<int64_t> boundaries;  // the key is the number of the bucket that the int is in, and
  std::vector<int64_t> sizes;       // that of windows is given for each
  FunctionPtr reduce;               // (key, window) to a dataset
};

class GroupDataset final : public Dataset {
 public:
  explicit GroupDataset(Grouping grouping) : grouping_(std::move(grouping)) {}
  int64_t cardinality() const override {
    return input().cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override { return probed_spec(); }
  const Grouping& grouping() const { return grouping_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Grouping grouping_;
};

// A row of a window. After a restore it is empty until it has been pulled again.
struct Held {
  int64_t position;  // in the input
  Element element;
};

// Rows of one key that do not fill a window yet.
struct Group {
  int64_t size = 0;  // of the window
  std::vector<Held> rows;
};

// The window whose dataset is being delivered.
struct Window {
  int64_t key;
  int64_t number;  // among the windows
  std::vector<Held> rows;
  StateBlob restored = nullptr;  // where its dataset was, after a restore
  int64_t given = 0;             // elements of it
  Origin origin = {};
  DatasetPtr contents = nullptr;
  DatasetPtr reduced = nullptr;
  IteratorPtr iterator = nullptr;
};

[[noreturn]] void ThrowDamaged() {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged; use the bytes of get_state unchanged");
}

class GroupIterator final : public BlockIterator {
 public:
  GroupIterator(std::shared_ptr<const GroupDataset> data, const RunContext& context)
      : data_(std::move(data)),
        stage_(data_->name().c_str()),
        grouping_(data_->grouping()),
        context_(context.Replayed()),
        random_(data_->Randomness(context)),
        input_(data_->StartInput(context_)) {}

  void VisitState(StateVisitor& visitor) override {
    // The rows that are held are pulled again; those between them are passed over.
    int64_t end = std::max(input_.position() - (unkeyed_ ? 1 : 0), refill_until_);
    int64_t low = firsts_.empty() ? end : *firsts_.begin();
    int64_t first = base_ + low;
    int64_t back = end - low;
    bool open = open_.has_value();
    visitor.Int(first);
    visitor.Int(back);
    visitor.Int(windows_);
    visitor.Bool(open);
    std::vector<int64_t> keys, sizes, counts, positions;
    if (visitor.saving()) {
      auto add = [&](int64_t key, int64_t size, const std::vector<Held>& rows) {
        keys.push_back(key);
        sizes.push_back(size);
        counts.push_back(static_cast<int64_t>(rows.size()));
        for (const Held& row : rows) positions.push_back(row.position - low);
      };
      if (open) add(open_->key, open_->number, open_->rows);
      for (auto& [key, group] : groups_) add(key, group.size, group.rows);
    }
    visitor.Ints(keys);
    visitor.Ints(sizes);
    visitor.Ints(counts);
    visitor.Ints(positions);
    StateBlob inside;
    int64_t given = 0;
    if (open && visitor.saving()) {
      inside = open_->iterator ? SaveState(*open_->iterator) : open_->restored;
      given = open_->given;
    }
    visitor.Blob(inside);
    visitor.Int(given);
    input_.VisitState(visitor, input_.position() - low);
    if (visitor.saving()) return;
    base_ = first;
    refill_until_ = back;
    Restore(open, keys, sizes, counts, positions);
    if (open) open_->restored = std::move(inside), open_->given = given;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    for (;;) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (refill_until_ > 0) Refill();
      if (!open_) {
        if (ended_ && groups_.empty()) return Block::AtEnd();
        Collect();
        continue;
      }
      if (!open_->iterator) Open();
      Block block = open_->iterator->NextBlock(max_rows);
      BecomeChildren(block, open_->origin.key, open_->given);
      if (std::exchange(block.end, false)) Close();
      if (block.rows > 0 || block.error) return block;
    }
  }

 private:
  // Pulls an element into its group; begins a window when that is full, or the input has ended.
  void Collect() {
    if (!unkeyed_ && !ended_) Mark();
    Step step = unkeyed_ ? *std::exchange(unkeyed_, std::nullopt)
                : ended_ ? Step(End{})
                         : input_.Next();
    if (auto* error = std::get_if<Error>(&step)) throw *std::move(error);
    if (std::holds_alternative<End>(step)) {
      ended_ = true;
      if (!groups_.empty()) Begin(groups_.begin());
      return;
    }
    auto& element = std::get<Element>(step);
    int64_t position = input_.position() - 1;
    int64_t key;
    int64_t size;
    try {
      key = KeyOf(element, CallInfo{stage_, random_, base_ + position});
      size = SizeOf(key, element, CallInfo{stage_, random_, base_ + position});
    } catch (const Error& error) {
      if (error.transient()) unkeyed_ = std::move(step);
      throw;
    }
    auto group = groups_.try_emplace(key).first;
    if (group->second.rows.empty()) firsts_.insert(position);
    group->second.size = size;
    group->second.rows.push_back({position, std::move(element)});
    if (static_cast<int64_t>(group->second.rows.size()) >= size) Begin(group);
  }

  // A key that is rare may hold a row from long ago: the states since then grow further apart the
  // further away it is, so that they do not become ever more.
  void Mark() {
    constexpr int64_t kMarks = 64;
    int64_t low = firsts_.empty() ? input_.position() : *firsts_.begin();
    if (input_.position() - marked_ < (input_.position() - low) / kMarks) return;
    input_.Keep(low);
    input_.Mark();
    marked_ = input_.position();
  }

  int64_t KeyOf(const Element& element, const CallInfo& info) {
    int64_t key = CallForInt(*grouping_.key, grouping_.key_name, element, info);
    if (grouping_.sizes.empty()) return key;
    auto& ends = grouping_.boundaries;
    return std::upper_bound(ends.begin(), ends.end(), key) - ends.begin();
  }

  int64_t SizeOf(int64_t key, const Element& element, const CallInfo& info) {
    if (!grouping_.sizes.empty()) return grouping_.sizes[static_cast<size_t>(key)];
    if (!grouping_.size_func) return grouping_.size;
    auto known = sizes_.find(key);
    if (known != sizes_.end()) return known->second;
    Element argument{{Tensor::Scalar(key)}, Structure::Leaf(), element.origin};
    int64_t size = CallForInt(*grouping_.size_func, "window_size_func", argument, info);
    if (size < 1) {
      Error error(ErrorKind::kInvalidArgument,
                  "{}: window_size_func must return a size >= 1, got {} for key {}",
                  std::string_view(stage_), size, key);
      throw error.Note(PlaceNote(info, info.index, element.origin, nullptr)).At(element.origin);
    }
    sizes_[key] = size;
    return size;
  }

  void Begin(std::map<int64_t, Group>::iterator group) {
    open_.emplace(Window{group->first, windows_++, std::move(group->second.rows)});
    groups_.erase(group);
  }

  void Close() {
    firsts_.erase(open_->rows.front().position);
    open_.reset();
  }

  // Has the dataset made. What fails for good is the window's error, and its end.
  void Open() {
    Window& window = *open_;
    try {
      if (!window.contents) HoldContents(window);
      Element pair;
      pair.structure = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
      pair.leaves = {Tensor::Scalar(window.key), g_wrap_dataset(window.contents)};
      pair.origin = window.origin;
      window.reduced = grouping_.reduce->Open(pair, CallInfo{stage_, random_, window.number});
      RunContext context = context_.At(window.origin.key);
      context.path += ".*";
      IteratorPtr iterator = window.reduced->Start(context);
      RestoreState(*iterator, window.restored);
      window.restored = nullptr;
      window.iterator = std::move(iterator);
    } catch (const Error& error) {
      if (!error.transient()) Close();
      throw;
    }
  }

  static void HoldContents(Window& window) {
    Block all;
    all.rows = static_cast<int64_t>(window.rows.size());
    all.structure = window.rows.front().element.structure;
    window.origin = window.rows.front().element.origin;
    window.origin.key = ChildKey(window.origin.key, ~uint64_t{0});
    for (Held& row : window.rows) all.elements.push_back(std::move(row.element));
    all.first = all.elements.front().origin;
    std::vector<Block> parts;
    parts.push_back(std::move(all));
    window.contents = HoldRows(std::move(parts));
  }

  void Restore(bool open, const std::vector<int64_t>& keys, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& counts, const std::vector<int64_t>& positions) {
    bool good = sizes.size() == keys.size() && counts.size() == keys.size();
    if (!good || refill_until_ < 0 || (open && keys.empty())) ThrowDamaged();
    size_t next = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (counts[i] < 1 || counts[i] > static_cast<int64_t>(positions.size() - next))
        ThrowDamaged();
      std::vector<Held> rows;
      int64_t last = -1;
      for (int64_t row = 0; row < counts[i]; ++row) {
        if (positions[next] <= last || positions[next] >= refill_until_) ThrowDamaged();
        rows.push_back({last = positions[next++], {}});
      }
      if (!firsts_.insert(rows.front().position).second) ThrowDamaged();
      if (open && i == 0) {
        open_.emplace(Window{keys[i], sizes[i], std::move(rows)});
        continue;
      }
      if (sizes[i] <= counts[i]) ThrowDamaged();
      if (!groups_.try_emplace(keys[i], Group{sizes[i], std::move(rows)}).second) ThrowDamaged();
    }
    if (next != positions.size()) ThrowDamaged();
    // Pointers into groups_ and open_, neither of which changes until all is refilled.
    if (open_)
      for (Held& row : open_->rows) waiting_.push_back(&row);
    for (auto& [key, group] : groups_)
      for (Held& row : group.rows) waiting_.push_back(&row);
    std::sort(waiting_.begin(), waiting_.end(),
              [](const Held* a, const Held* b) { return a->position > b->position; });
  }

  // Pulls the rows again that were held when the state was saved, the last of waiting_ first.
  void Refill() {
    while (!waiting_.empty()) {
      if (context_.cancel.cancelled()) throw Error(ErrorKind::kCancelled, "");
      PassOver(waiting_.back()->position);
      Step step = input_.Next();
      auto* error = std::get_if<Error>(&step);
      if (error && error->transient()) throw *std::move(error);
      auto* element = std::get_if<Element>(&step);
      if (!element) {
        waiting_.clear();
        groups_.clear();
        firsts_.clear();
        open_.reset();
        refill_until_ = 0;
        throw Error(ErrorKind::kRuntime,
                    "{}: the input has other elements than when the state was saved",
                    std::string_view(stage_));
      }
      waiting_.back()->element = std::move(*element);
      waiting_.pop_back();
    }
    PassOver(refill_until_);
    refill_until_ = 0;
  }

  void PassOver(int64_t position) {
    int64_t steps = position - input_.position();
    if (steps <= 0) return;
    if (auto error = input_.Discard(steps)) throw *std::move(error);
  }

  const std::shared_ptr<const GroupDataset> data_;
  const char* const stage_;
  const Grouping& grouping_;
  const RunContext context_;
  const StageRandom random_;
  Input input_;
  std::map<int64_t, Group> groups_;  // leftovers come in the order of keys
  std::set<int64_t> firsts_;         // positions of the first row of each group and of the window
  std::unordered_map<int64_t, int64_t> sizes_;
  std::optional<Window> open_;
  std::optional<Step> unkeyed_;  // the last one pulled: a function was interrupted
  int64_t windows_ = 0;
  int64_t marked_ = 0;
  int64_t base_ = 0;  // steps of the input before its own count began
  bool ended_ = false;
  int64_t refill_until_ = 0;
  std::vector<Held*> waiting_;  // after a restore: the rows to be pulled again, the last one first
};

IteratorPtr GroupDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<GroupIterator>(
      std::static_pointer_cast<const GroupDataset>(shared_from_this()), context);
}

const RegisterDataset group_by_window(
    "group_by_window",
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      Grouping grouping;
      grouping.key = args.Callable("key_func");
      grouping.reduce = args.Callable("reduce_func");
      if (args.Has("window_size_func"))
        grouping.size_func = args.Callable("window_size_func");
      else
        grouping.size = args.IntAtLeast("window_size", 1);
      return std::make_shared<GroupDataset>(std::move(grouping));
    },
    true);

}  // namespace
}  // namespace penstock
