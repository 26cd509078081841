// Temporaries: what replaces what, both where the system can exchange two names and (in the
// portable build) where it cannot.
#include "storage/temporary.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.h"
#include "data/error.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// A folder for the files of one test.
class Place {
 public:
  Place() {
    std::string name = (fs::temp_directory_path() / "penstock-test-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Place() { fs::remove_all(folder_); }
  fs::path operator/(const char* name) const { return folder_ / name; }
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  fs::path folder_;
};

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string Read(const fs::path& path) {
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  return text;
}

void Fill(const std::string& folder, const std::string& text) {
  Write(fs::path(folder) / kManifestName, text);
  Write(fs::path(folder) / ShardName(0), text);
}

int CodeOf(Temporary& temporary) {
  try {
    temporary.Commit();
  } catch (const Error& error) {
    return error.os_error();
  }
  return 0;
}

}  // namespace

TEST(temporary_replaces_a_folder_of_ours) {
  Place place;
  fs::path target = place / "data";
  for (const char* text : {"one", "two", "three"}) {
    Temporary temporary("save", target.string(), OurKind::kFolder);
    Fill(temporary.path(), text);
    temporary.Commit();
    CHECK_EQ(Read(target / kManifestName), std::string(text));
    CHECK_EQ(place.count(), size_t{1});
  }
}

TEST(temporary_of_two_writers_the_last_one_stays) {
  Place place;
  fs::path target = place / "data";
  Temporary one("save", target.string(), OurKind::kFolder);
  Temporary two("save", target.string(), OurKind::kFolder);
  Fill(one.path(), "one");
  Fill(two.path(), "two");
  two.Commit();
  one.Commit();
  CHECK_EQ(Read(target / kManifestName), std::string("one"));
  CHECK_EQ(place.count(), size_t{1});
}

TEST(temporary_keeps_a_foreign_folder_that_came_meanwhile) {
  Place place;
  fs::path target = place / "data";
  {
    Temporary temporary("save", target.string(), OurKind::kFolder);
    Fill(temporary.path(), "new");
    Write(target / "thesis.txt", "all of it");
    CHECK_EQ(CodeOf(temporary), EEXIST);
  }
  CHECK_EQ(Read(target / "thesis.txt"), std::string("all of it"));
  CHECK_EQ(place.count(), size_t{1});
}

TEST(temporary_file_replaces_ours_and_no_other) {
  Place place;
  fs::path target = place / "data";
  {
    Temporary temporary("cache", target.string(), OurKind::kFile);
    Write(temporary.path(), std::string(kChunkMagic) + "new");
    temporary.Commit();
  }
  Temporary temporary("cache", target.string(), OurKind::kFile);
  Write(target, "all of it");
  CHECK_EQ(CodeOf(temporary), EEXIST);
  CHECK_EQ(Read(target), std::string("all of it"));
}

TEST(temporary_of_a_dead_writer_is_removed_and_what_is_foreign_in_it_stays) {
  Place place;
  fs::path target = place / "data";
  Fill((place / "data.tmp-12-ab-0").string(), "dead");
  Fill((place / "data.tmp-12-ab-1").string(), "mine");
  Write(place / "data.tmp-12-ab-1" / "thesis.txt", "all of it");
  Write(place / "data.tmp-12-ab-2", std::string(kChunkMagic) + "dead");
  Write(place / "data.tmp-12-ab-3", "all of it");
  {
    Temporary temporary("save", target.string(), OurKind::kFolder);
  }
  CHECK(!fs::exists(place / "data.tmp-12-ab-0"));
  CHECK_EQ(Read(place / "data.tmp-12-ab-1" / "thesis.txt"), std::string("all of it"));
  CHECK_EQ(Read(place / "data.tmp-12-ab-1" / kManifestName), std::string("mine"));
  CHECK(!fs::exists(place / "data.tmp-12-ab-2"));
  CHECK_EQ(Read(place / "data.tmp-12-ab-3"), std::string("all of it"));
}

TEST(temporary_puts_back_what_a_dead_writer_has_moved_aside) {
  Place place;
  fs::path target = place / "data";
  fs::path aside = place / "data.tmp-12-ab-0-old";
  Fill(aside.string(), "former");
  {
    Temporary temporary("save", target.string(), OurKind::kFolder);
  }
  CHECK_EQ(Read(target / kManifestName), std::string("former"));
  // The new folder has its name, so the former one is removed.
  Fill(aside.string(), "former");
  Fill(target.string(), "new");
  {
    Temporary temporary("save", target.string(), OurKind::kFolder);
  }
  CHECK_EQ(Read(target / kManifestName), std::string("new"));
  CHECK_EQ(place.count(), size_t{1});
}

TEST(temporary_names_have_a_full_form) {
  bool aside = false;
  for (const char* name : {"data.tmp-1-2-3", "data.tmp-12345-ab12-0", "data.tmp-1-2-3-old"}) {
    CHECK(IsTemporaryName(name, "data", &aside));
  }
  CHECK(aside);
  for (const char* name :
       {"data.tmp-", "data.tmp-backup", "data.tmp-1-2", "data.tmp-1-2-", "data.tmp-1-2-3-",
        "data.tmp-1-2-3-older", "data.tmp-1-2-3x", "data.tmp-a-2-3", "data.tmp--1-2-3", "data",
        "data.tmp-12345678901-2-3", "other.tmp-1-2-3", "data2.tmp-1-2-3"}) {
    CHECK(!IsTemporaryName(name, "data", &aside));
  }
}

}  // namespace penstock
