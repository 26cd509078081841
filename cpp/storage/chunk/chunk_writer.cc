// Writes a file of rows, front to back.
#include "data/element_text.h"
#include "data/foreign_names.h"
#include "storage/chunk/chunk_index.h"
#include "storage/chunk/chunk_layout.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

// Refuses a structure that cannot be named in a file, with the first row that has it.
void CheckNamed(const char* stage, const Structure* structure) {
  bool named = structure->kind() == Structure::Kind::kDict ||
               structure->kind() == Structure::Kind::kNamedTuple ||
               structure->kind() == Structure::Kind::kRecord;
  if (named && ForeignName(*structure).empty()) {
    bool dict = structure->kind() == Structure::Kind::kDict;
    throw Error(ErrorKind::kType, "{}: {} were expected, got {}; change them in a map before",
                std::string_view(stage),
                std::string_view(dict ? "dict keys that are strings, numbers, bytes or tuples of "
                                        "them"
                                      : "classes with a name"),
                structure->ToString());
  }
  for (const StructureRef& child : structure->children()) CheckNamed(stage, child);
}

template <typename T>
void AppendItem(std::string& out, const T& item) {
  out.append(reinterpret_cast<const char*>(&item), sizeof(T));
}

}  // namespace

ChunkWriter::ChunkWriter(const std::string& path, const ChunkHeader& header, const Options& options)
    : options_(options), file_(path), builder_(options.origins) {
  std::string text;
  StateVisitor visitor(&text);
  ChunkHeader copy = header;
  VisitHeader(visitor, copy);
  std::string head(kChunkMagic);
  AppendItem(
      head, ChunkPreamble{static_cast<uint32_t>(kChunkFormatVersion),
                          static_cast<uint32_t>(text.size()), Crc32c(text.data(), text.size()), 0});
  head += text;
  head.resize(AlignUp(head.size(), kColumnAlign));
  file_.Write(head.data(), head.size());
}

void ChunkWriter::Append(const Block& block) {
  for (int64_t row = 0; row < block.rows;) {
    const Structure* structure = block.stacked() ? block.structure : block.elements[row].structure;
    if (structure != checked_) CheckNames(block, row, structure);
    checked_ = structure;
    int64_t added = builder_.Add(block, row, options_.stage);
    row += added;
    rows_ += added;
    if (added == 0 || builder_.full()) Flush();
  }
}

void ChunkWriter::CheckNames(const Block& block, int64_t row, const Structure* structure) const {
  try {
    CheckNamed(options_.stage, structure);
  } catch (Error& error) {
    throw error.In({{options_.stage, "", ""}, rows_, RowText(block, row)}, block.origin(row));
  }
}

void ChunkWriter::Flush() {
  if (builder_.rows() == 0) return;
  ChunkForm form;
  BufferRef bytes = builder_.Take(&form);
  ChunkEntry entry;
  while (entry.layout < layouts_.size() && !(layouts_[entry.layout] == form.layout)) ++entry.layout;
  if (entry.layout == layouts_.size()) layouts_.push_back(form.layout);
  entry.bytes = bytes->size();
  entry.rows = form.rows;
  entry.keyed = form.keyed;
  entry.first_key = form.first_key;
  entry.first_index = form.first_index;
  BufferRef stored = Compress(options_.codec, bytes);
  bool smaller = stored->size() < bytes->size();
  entry.codec = smaller ? options_.codec : Codec::kNone;
  if (!smaller) stored = bytes;
  entry.offset = static_cast<uint64_t>(file_.size());
  entry.stored = stored->size();
  entry.crc = Crc32c(stored->data(), stored->size());
  file_.Write(stored->data(), stored->size());
  const char zeros[kColumnAlign] = {};
  auto end = static_cast<size_t>(file_.size());
  file_.Write(zeros, AlignUp(end, kColumnAlign) - end);
  entries_.push_back(entry);
}

void ChunkWriter::Finish(const MaybeSpec& spec) {
  Flush();
  if (layouts_.empty() && spec) {
    bool any_rank = false;
    for (auto& leaf : spec->leaves) {
      any_rank = any_rank || leaf.any_rank || leaf.dtype.code == TypeCode::kObject;
    }
    if (!any_rank) {
      CheckNamed(options_.stage, spec->structure);
      layouts_.push_back(*spec);
    }
  }
  std::string footer;
  StateVisitor visitor(&footer);
  uint64_t layouts = layouts_.size();
  visitor.UInt(layouts);
  for (ElementSpec& layout : layouts_) VisitSpec(visitor, layout);
  uint64_t entries = entries_.size();
  visitor.UInt(entries);
  for (ChunkEntry& entry : entries_) VisitEntry(visitor, entry);
  ChunkTrailer trailer{static_cast<uint64_t>(file_.size()), footer.size(),
                       Crc32c(footer.data(), footer.size()),
                       static_cast<uint32_t>(kChunkFormatVersion)};
  content_ = uint64_t{trailer.footer_crc} << 32 | (trailer.footer_size & 0xFFFFFFFF);
  AppendItem(footer, trailer);
  footer += kChunkEndMagic;
  file_.Write(footer.data(), footer.size());
  file_.Close();
}

}  // namespace penstock
