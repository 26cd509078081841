// Serialisation of a chunk file's index, in both directions.
#pragma once

#include <vector>

#include "data/state_visitor.h"
#include "storage/chunk/chunk_file.h"
#include "storage/our_files.h"

namespace penstock {

void VisitHeader(StateVisitor& visitor, ChunkHeader& header);
void VisitSpec(StateVisitor& visitor, ElementSpec& spec);
void VisitEntry(StateVisitor& visitor, ChunkEntry& entry);

// At the end of the file, little-endian.
struct ChunkTrailer {
  uint64_t footer_offset;
  uint64_t footer_size;
  uint32_t footer_crc;
  uint32_t version;
};
static_assert(sizeof(ChunkTrailer) == 24);
constexpr size_t kTrailerSize = sizeof(ChunkTrailer) + 8;  // including the end magic

// After the magic.
struct ChunkPreamble {
  uint32_t version;
  uint32_t header_size;
  uint32_t header_crc;
  uint32_t reserved;
};
static_assert(sizeof(ChunkPreamble) == 16);

}  // namespace penstock
