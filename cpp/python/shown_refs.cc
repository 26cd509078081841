// The lists of references, linked and unlinked while attached.
#include "python/shown_refs.h"

#include <vector>

#include "python/gil.h"

namespace penstock {

struct ShownRef::Node {
  PyObject* object;
  bool kept;
  std::shared_ptr<ShownRefs> list;  // null: not shown
  Node* previous = nullptr;
  Node* next = nullptr;
};

ShownRef::ShownRef(Session* session, PyRef object, bool kept) {
  if (!object) return;
  auto list = session ? std::static_pointer_cast<ShownRefs>(session->foreign()) : nullptr;
  node_ = new Node{object.get(), kept, std::move(list)};
  if (node_->list) {
    std::lock_guard lock(node_->list->mutex_);
    node_->next = std::exchange(node_->list->first_, node_);
    if (node_->next) node_->next->previous = node_;
  }
  (void)object.release();
}

ShownRef::~ShownRef() {
  if (node_) DeferredCall(Release, node_);
}

void ShownRef::Release(void* node) {
  const std::unique_ptr<Node> owned(static_cast<Node*>(node));
  if (owned->list) {
    std::lock_guard lock(owned->list->mutex_);
    (owned->previous ? owned->previous->next : owned->list->first_) = owned->next;
    if (owned->next) owned->next->previous = owned->previous;
  }
  Py_DECREF(owned->object);
}

PyRef ShownRef::Use() const {
  PyRef object = PyRef::Borrow(node_ ? node_->object : nullptr);
  if (object && IsCondemned(object.get())) return {};
  return object;
}

void ShownRefs::MakeFor(Session& session) { session.set_foreign(std::make_shared<ShownRefs>()); }

int ShownRefs::Traverse(const Session& session, visitproc visit, void* arg) {
  auto* list = static_cast<ShownRefs*>(session.foreign().get());
  if (!list) return 0;
  std::lock_guard lock(list->mutex_);
  for (ShownRef::Node* node = list->first_; node; node = node->next) Py_VISIT(node->object);
  return 0;
}

std::shared_ptr<void> ShownRefs::Keep(const Session& session) {
  auto kept = std::make_shared<std::vector<PyRef>>();
  auto* list = static_cast<ShownRefs*>(session.foreign().get());
  if (!list) return kept;
  std::lock_guard lock(list->mutex_);
  for (ShownRef::Node* node = list->first_; node; node = node->next) {
    if (node->kept) kept->push_back(PyRef::Borrow(node->object));
  }
  return kept;
}

}  // namespace penstock
