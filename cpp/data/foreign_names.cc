// The two tables of foreign forms: by object, and by name.
#include "data/foreign_names.h"

#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "data/foreign.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

using Sought = std::tuple<Structure::Kind, std::string, std::vector<std::string>>;

struct Known {
  std::weak_ptr<const ForeignForm> form;
  std::vector<Sought> names;  // its entries in Forms::found
};

// An entry is removed with the last reference to its form, before the object is released. So an
// address in the table never belongs to a different object.
struct Forms {
  std::mutex mutex;  // a leaf lock
  std::unordered_map<const void*, Known> of;
  std::map<Sought, const void*> found;

  // The following require the mutex.
  ForeignRef Live(const void* object) {
    auto known = of.find(object);
    return known == of.end() ? nullptr : known->second.form.lock();
  }
  bool Gone(const void* object) const {
    auto known = of.find(object);
    return known == of.end() || known->second.form.expired();
  }
  // The first form with a name keeps it.
  void AddName(Known& known, const void* object, Sought name) {
    auto [place, fresh] = found.emplace(name, object);
    if (!fresh && (place->second == object || !Gone(place->second))) return;
    place->second = object;
    known.names.push_back(std::move(name));
  }
};

Forms& TheForms() {
  // Leaked: lasting structures live as long as the process.
  static Forms& forms = *[] {
    auto* made = new Forms;
    HoldAcrossFork(made->mutex);
    return made;
  }();
  return forms;
}

void Forget(const ForeignForm* form) {
  {
    Forms& forms = TheForms();
    std::lock_guard lock(forms.mutex);
    auto known = forms.of.find(form->object);
    // Not expired: the object was named again after the last reference was dropped.
    if (known != forms.of.end() && known->second.form.expired()) {
      for (const Sought& name : known->second.names) {
        auto found = forms.found.find(name);
        if (found != forms.found.end() && found->second == form->object) forms.found.erase(found);
      }
      forms.of.erase(known);
    }
  }
  TheForeignRuntime().Release(form->object);
  delete form;
}

thread_local int64_t t_misses = 0;

}  // namespace

ForeignRef KnownForeign(const void* object) {
  Forms& forms = TheForms();
  std::lock_guard lock(forms.mutex);
  return forms.Live(object);
}

ForeignRef NameForeign(Structure::Kind kind, ForeignForm form,
                       const std::vector<std::string>& fields) {
  ForeignRef made(new ForeignForm(std::move(form)), Forget);  // if unused, freed without the mutex
  Forms& forms = TheForms();
  std::lock_guard lock(forms.mutex);
  Known& known = forms.of[made->object];
  if (ForeignRef before = known.form.lock()) return before;
  known.form = made;
  if (!made->name.empty()) forms.AddName(known, made->object, {kind, made->name, fields});
  return made;
}

ForeignRef FindForeign(Structure::Kind kind, const std::string& name,
                       const std::vector<std::string>& fields) {
  Sought sought(kind, name, fields);
  Forms& forms = TheForms();
  {
    std::lock_guard lock(forms.mutex);
    auto found = forms.found.find(sought);
    if (found != forms.found.end()) {
      if (ForeignRef form = forms.Live(found->second)) return form;
    }
  }
  ForeignRef form = TheForeignRuntime().FindForm(kind, name, fields);
  if (form) {
    std::lock_guard lock(forms.mutex);
    forms.AddName(forms.of[form->object], form->object, std::move(sought));
  } else {
    ++t_misses;
  }
  return form;
}

int64_t ForeignMisses() { return t_misses; }

}  // namespace penstock
