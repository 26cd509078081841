// text_line: the lines of a text file, without their line ends.
#include <algorithm>
#include <bit>
#include <cstring>

#include "stages/files/file_dataset.h"

#if defined(__SSE2__)
#define PENSTOCK_LINES_SSE2
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

#if defined(PENSTOCK_LINES_SSE2)

constexpr size_t kStride = 64;

// Returns a bit for each of 64 bytes: whether it ends a line.
uint64_t LineEnds(const uint8_t* bytes) {
  const __m128i end = _mm_set1_epi8('\n');
  uint64_t ends = 0;
  for (int i = 0; i < 4; ++i) {
    __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, end)));
    ends |= uint64_t{bits} << (16 * i);
  }
  return ends;
}

#endif

// Whether a line contains only JSON white space.
bool Blank(const uint8_t* text, size_t size) {
  return std::all_of(text, text + size,
                     [](uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\r'; });
}

class TextLineReader final : public FormatReader<TextLineReader> {
 public:
  explicit TextLineReader(bool skips_blank) : skips_blank_(skips_blank) {}

  Found Find(const ByteWindow& window) override {
    if (MayBeginWithMark(window)) return {.kind = Found::kMore, .size = window.size, .need = 3};
    const size_t begin = ByteOrderMark(window);
    searched_ = std::max(searched_, begin);
    const uint8_t* end = nullptr;
    if (window.size > searched_) {
      end = static_cast<const uint8_t*>(
          std::memchr(window.data + searched_, '\n', window.size - searched_));
    }
    if (!end && !window.ended) {
      searched_ = window.size;
      // Double it, so that each byte of a long line is moved only a few times.
      return {.kind = Found::kMore, .size = window.size - begin, .need = 2 * window.size + 1};
    }
    searched_ = 0;
    if (!end && window.size == begin) return {.kind = Found::kEnd};
    size_t length = end ? static_cast<size_t>(end - window.data) : window.size;
    size_t text = length > begin && window.data[length - 1] == '\r' ? length - 1 : length;
    const size_t next = end ? length + 1 : length;
    if (skips_blank_ && Blank(window.data + begin, text - begin))
      return {.kind = Found::kSkip, .next = next};
    return {.kind = Found::kRecord,
            .begin = begin,
            .size = text - begin,
            .next = next,
            .header = begin};
  }

#if defined(PENSTOCK_LINES_SSE2)
  // Most lines are too short for a call of memchr to pay off: one comparison finds all line ends in
  // 64 bytes.
  size_t FindRun(const ByteWindow& window, std::span<RecordSpan> spans) override {
    searched_ = 0;
    const size_t mark = ByteOrderMark(window);
    size_t count = 0;
    size_t begin = mark;
    for (size_t at = 0; window.size - at >= kStride; at += kStride) {
      for (uint64_t ends = LineEnds(window.data + at); ends != 0; ends &= ends - 1) {
        if (count == spans.size()) return count;
        size_t end = at + static_cast<size_t>(std::countr_zero(ends));
        size_t text = end > begin && window.data[end - 1] == '\r' ? end - 1 : end;
        if (skips_blank_ && Blank(window.data + begin, text - begin)) return count;
        spans[count] = {begin, text - begin, end + 1, count == 0 ? mark : 0};
        ++count;
        begin = end + 1;
      }
    }
    ByteWindow rest = window;
    rest.data += begin;
    rest.size -= begin;
    rest.offset += static_cast<int64_t>(begin);
    size_t more = FormatReader::FindRun(rest, spans.subspan(count));
    for (RecordSpan& span : spans.subspan(count, more)) {
      span.begin += begin;
      span.next += begin;
    }
    if (count == 0 && more > 0) spans[0].header = mark;
    return count + more;
  }
#endif

 private:
  const bool skips_blank_;
  size_t searched_ = 0;  // bytes of the window known to have no line end
};

const FileFormat kTextLines{
    "TextLineDataset", Beginning::kText,
    [](const Args& args) -> std::unique_ptr<RecordReader> {
      return std::make_unique<TextLineReader>(args.Has("skip_blank") && args.Bool("skip_blank"));
    },
    /*named_compression=*/false, /*lines=*/true};

const RegisterDataset text_line_stage("text_line", TraitsOf(kTextLines),
                                      [](const std::vector<DatasetPtr>&,
                                         const Args& args) -> std::shared_ptr<Dataset> {
                                        return MakeFileDataset(kTextLines, args);
                                      });

}  // namespace
}  // namespace penstock
