// Files of records: TFRecord, lines, CSV and fixed-length records, plain and compressed.
#include <algorithm>
#include <array>
#include <cstring>

#include "compute/op_registry.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "fuzz.h"
#include "stages/files/file_dataset.h"
#include "stages/files/index_file.h"
#include "storage/crc32c.h"
#include "storage/zstd_stream.h"

#if defined(PENSTOCK_HAS_ZLIB)
#include <zlib.h>
#endif

namespace penstock::fuzz {
namespace {

constexpr int64_t kMostSteps = 1 << 20;

struct Read {
  std::vector<std::string> records;
  std::vector<std::string> errors;
};

// Reads all records and the errors between them. A reader must reach the end of any file.
Read ReadAll(const DatasetPtr& dataset, int64_t rows) {
  Session session(dataset, {}, {});
  Read read;
  for (int64_t step = 0; step < kMostSteps; ++step) {
    Block block = session.NextBlock(rows);
    for (int64_t i = 0; i < block.rows; ++i) {
      read.records.emplace_back(block.Row(i).leaves[0].string());
    }
    if (block.error) read.errors.push_back(block.error->message());
    if (block.end) return read;
  }
  Require(false, "a reader comes to an end");
  return read;
}

DatasetPtr Open(const std::string& kind, const std::string& path, const std::string& compression,
                int64_t buffer, Random& random) {
  Args args(kind);
  args.Set("filename", path);
  if (!compression.empty()) args.Set("compression_type", compression);
  args.Set("buffer_size", buffer);
  if (kind == "fixed_length_record") {
    args.Set("record_bytes", static_cast<int64_t>(1 + random.Below(9)));
    args.Set("header_bytes", static_cast<int64_t>(random.Below(4)));
    args.Set("footer_bytes", static_cast<int64_t>(random.Below(4)));
  }
  if (kind == "csv_record") {
    args.Set("field_delim", std::string(","));
    args.Set("use_quote_delim", random.OneIn(2));
    args.Set("header", random.OneIn(2));
  }
  return MakeDataset(kind, {}, args);
}

// Neither the size of the read window nor the number of rows per request changes the result.
void RunFile(const std::string& kind, const std::string& input, const std::string& compression,
             Random& random) {
  static const std::string path = TemporaryFolder() + "/records";
  WriteFile(path, input);
  Random same(random.Bits());
  Random again = same;
  Read all = ReadAll(Open(kind, path, compression, 1 << 16, same), 64);
  Read few =
      ReadAll(Open(kind, path, compression, static_cast<int64_t>(random.Below(40)), again), 1);
  if (compression == "ZSTD") {
    // How much of a damaged block libzstd decodes before its error, and the byte that it has
    // reached then, depend on the space for its output.
    Require(all.errors.size() == few.errors.size(), "as many errors through a small window");
    const size_t both = std::min(all.records.size(), few.records.size());
    const bool same = std::equal(
        all.records.begin(), all.records.begin() + static_cast<int64_t>(both), few.records.begin());
    Require(same && (!all.errors.empty() || all.records.size() == few.records.size()),
            "the same records through a small window");
  } else {
    Require(all.records == few.records, "the same records through a small window");
    Require(all.errors == few.errors, "the same errors through a small window");
  }
  if (!all.errors.empty()) throw Error(ErrorKind::kData, "{}", all.errors[0]);
}

void PutFramed(std::string_view content, std::string& to) {
  auto put = [&](uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) to += static_cast<char>(value >> (8 * i));
  };
  size_t begin = to.size();
  put(content.size(), 8);
  put(MaskedCrc(Crc32c(to.data() + begin, 8)), 4);
  to += content;
  put(MaskedCrc(Crc32c(content.data(), content.size())), 4);
}

std::vector<std::string> TfRecords(const std::string&) {
  std::string records;
  for (const char* content :
       {"", "a record", "another, which is a bit longer than the first one"}) {
    PutFramed(content, records);
  }
  return {"", records};
}

void RepairTfRecords(std::string& input) {
  for (size_t at = 0; at + 16 <= input.size();) {
    uint64_t length = 0;
    std::memcpy(&length, input.data() + at, 8);
    uint32_t crc = MaskedCrc(Crc32c(input.data() + at, 8));
    std::memcpy(input.data() + at + 8, &crc, 4);
    if (length > input.size() - at - 16) return;
    crc = MaskedCrc(Crc32c(input.data() + at + 12, length));
    std::memcpy(input.data() + at + 12 + length, &crc, 4);
    at += 16 + length;
  }
}

std::string Octal(uint64_t value, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

std::vector<std::string> Lines(const std::string&) {
  return {"one\ntwo\r\n\nlast", "", std::string(300, 'x') + "\n", "\r\n\r\n"};
}

std::vector<std::string> CsvFiles(const std::string&) {
  return {"a,b\n1,\"two\nlines\"\n3,4", "x\r\n\"\"\"\"\r\n", "1,2\n"};
}

// The header of a file in an archive, with a type and a size.
std::string TarHeader(const std::string& name, char type, size_t size) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 12, Octal(size, 11) + '\0');
  header.replace(148, 8, std::string(8, ' '));
  header[156] = type;
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  return header;
}

void PutTarSum(char* header) {
  std::memset(header + 148, ' ', 8);
  uint32_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<uint8_t>(header[i]);
  std::memcpy(header + 148, (Octal(sum, 6) + std::string("\0 ", 2)).data(), 8);
}

void PutTarFile(const std::string& name, char type, const std::string& content, std::string& to) {
  std::string header = TarHeader(name, type, content.size());
  PutTarSum(header.data());
  to += header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

std::vector<std::string> TarFiles(const std::string&) {
  std::string plain, named, odd;
  PutTarFile("a/0.txt", '0', "zero", plain);
  PutTarFile("a/0.cls", '0', "0", plain);
  PutTarFile("a/1.txt", '0', std::string(700, 'x'), plain);
  PutTarFile("PaxHeaders", 'x', "30 path=a/name/of/a/file.json\n", named);
  PutTarFile("short", '0', "{}", named);
  PutTarFile("././@LongLink", 'L', std::string(120, 'n') + ".txt", named);
  PutTarFile("short", '0', "long", named);
  PutTarFile("PaxHeaders", 'x', "9 size=3\n22 GNU.sparse.major=1\n", odd);
  PutTarFile("b/2.txt", '0', "abc", odd);
  PutTarFile("b", '5', "", odd);
  PutTarFile("b/2.bin", 'S', "sparse", odd);
  PutTarFile("__meta__/x.y", '0', "{}", odd);
  const std::string zeros(1024, '\0');
  return {plain + zeros, named, odd, zeros + plain + zeros + odd + zeros + named + zeros};
}

// Corrects the checksum of each block that may be a header.
void RepairTar(std::string& input) {
  for (size_t at = 0; at + 512 <= input.size(); at += 512) {
    if (std::memcmp(input.data() + at + 257, "ustar", 5) == 0) PutTarSum(input.data() + at);
  }
}

// Samples and their fields: the operations must be able to read every record that the reader gives.
void RunTar(const std::string& input, Random& random) {
  Args asked("io.tar_fields");
  const std::vector<std::string_view> names{"txt;json", "__key__", "cls"};
  Element fields;
  fields.leaves = {Tensor::Strings(TypeCode::kBytes, {3}, names)};
  asked.Set("fields", std::make_shared<const Element>(fields));
  asked.Set("forms", std::vector<int64_t>{1, 0, 2});
  const auto some = MakeOp("io.tar_fields", asked);
  const auto all = MakeOp("io.tar_members", Args("io.tar_members"));
  WriteFile(TemporaryFolder() + "/tar", input);
  const DatasetPtr dataset = Open("tar_sample", TemporaryFolder() + "/tar", "", 4096, random);
  for (const std::string& record : ReadAll(dataset, 8).records) {
    for (const Op* op : {some.get(), all.get()}) {
      try {
        op->Call({Tensor::String(TypeCode::kBytes, record)}, {});
      } catch (const Error& error) {
        Require(error.message().find("that are none") == std::string::npos, "a sample is one");
      }
    }
  }
  RunFile("tar_sample", input, "", random);
}

// A file whose size does not fit is refused, so no file is valid for every record size.
void RunFixedLength(const std::string& input, Random& random) {
  try {
    RunFile("fixed_length_record", input, "", random);
  } catch (const Error&) {
  }
}

// Runs files of one kind with one compression.
std::function<void(const std::string&, Random&)> Files(std::string kind, std::string compression) {
  return
      [=](const std::string& input, Random& random) { RunFile(kind, input, compression, random); };
}

#if defined(PENSTOCK_HAS_ZLIB)
// window_bits: as for deflateInit2; 16 more give a gzip file.
std::string Deflated(const std::string& content, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(content.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::string> GzipFiles(const std::string&) {
  std::string one = Deflated("one\ntwo\n", 31);
  return {one, one + Deflated(std::string(5000, 'z'), 31)};
}

std::vector<std::string> ZlibFiles(const std::string&) { return {Deflated("one\ntwo\n", 15)}; }

const RegisterTarget gzip({"gzip", GzipFiles, Files("text_line", "GZIP")});
const RegisterTarget zlib({"zlib", ZlibFiles, Files("text_line", "ZLIB")});
// Valid gzip files that contain damaged archives and records.
const RegisterTarget archive({"tar_gzip", TarFiles,
                              [](const std::string& input, Random& random) {
                                RunFile("tar_sample", Deflated(input, 31), "GZIP", random);
                              },
                              RepairTar});
const RegisterTarget within({"tf_record_gzip", TfRecords,
                             [](const std::string& input, Random& random) {
                               RunFile("tf_record", Deflated(input, 31), "GZIP", random);
                             },
                             RepairTfRecords});
#endif
#if defined(PENSTOCK_HAS_ZSTD)
std::string Zstd(const std::string& content) {
  return ZstdCompressor(1).Run(content, ZstdCompressor::Until::kEnd);
}

std::vector<std::string> ZstdFiles(const std::string&) {
  std::string skippable("\x5a\x2a\x4d\x18\x04\0\0\0note", 12);
  std::string one = Zstd("one\ntwo\n");
  return {one, skippable + one + Zstd(std::string(5000, 'z'))};
}

const RegisterTarget zstd({"zstd", ZstdFiles, Files("text_line", "ZSTD")});
#endif
// Two files with indexes: the first is rewritten for each input; of the second, only the index is.
std::string LinesPath() { return TemporaryFolder() + "/lines"; }
std::string FixedPath() { return TemporaryFolder() + "/fixed"; }

PlannedFunction LineReader() {
  Args args("text_line");
  args.Set("buffer_size", int64_t{1} << 16);
  return {MakeReader("text_line", args)};
}

DatasetPtr OpenIndexed(const std::string& path) {
  Element names{{Tensor::Strings(TypeCode::kText, {1}, std::array{std::string_view(path)})},
                Structure::Leaf(),
                {}};
  Args tensors("from_tensor_slices");
  tensors.Set("tensors", std::make_shared<const Element>(std::move(names)));
  Args args("indexed_records");
  args.Set("reader", LineReader());
  return MakeDataset("indexed_records", {MakeDataset("from_tensor_slices", {}, tensors)}, args);
}

void WriteIndex(const std::string& path) {
  WriteRecordIndex(LineReader().usual, path, IndexPathOf(path, ""), CancelToken(), [](int64_t) {});
}

// Lines of any text are the same when read through their index, and in any order.
void RunIndexed(const std::string& input, Random& random) {
  WriteFile(LinesPath(), input);
  WriteIndex(LinesPath());
  Read plain = ReadAll(Open("text_line", LinesPath(), "", 1 << 16, random), 64);
  DatasetPtr dataset = OpenIndexed(LinesPath());
  Require(ReadAll(dataset, static_cast<int64_t>(1 + random.Below(9))).records == plain.records,
          "the same records by an index");
  if (plain.records.empty()) return;
  std::vector<int64_t> rows(1 + random.Below(20));
  for (int64_t& row : rows) row = static_cast<int64_t>(random.Below(plain.records.size()));
  Block block = dataset->indexed()->Gather(rows.data(), static_cast<int64_t>(rows.size()));
  for (int64_t i = 0; i < block.rows; ++i) {
    Require(block.Row(i).leaves[0].string() == plain.records[static_cast<size_t>(rows[i])],
            "the record at a position");
  }
}

// Reads a file of lines through an index with arbitrary contents.
void RunIndex(const std::string& input, Random& random) {
  WriteFile(IndexPathOf(FixedPath(), ""), input);
  Read read = ReadAll(OpenIndexed(FixedPath()), static_cast<int64_t>(1 + random.Below(9)));
  if (!read.errors.empty()) throw Error(ErrorKind::kData, "{}", read.errors[0]);
}

// From here on the file is not written again, so its time of modification fits all indexes.
std::vector<std::string> Indexes(const std::string&) {
  std::string lines;
  for (int i = 0; i < 700; ++i) lines += std::string(static_cast<size_t>(i % 13), 'x') + "\n";
  WriteFile(FixedPath(), lines);
  WriteIndex(FixedPath());
  return {ReadFile(IndexPathOf(FixedPath(), ""))};
}

// Corrects the checksums of the blocks and of the distances of each block.
void RepairIndex(std::string& input) {
  constexpr size_t kTrailer = 40;
  if (input.size() < 8 + kTrailer) return;
  auto number = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, input.data() + at, sizeof(value));
    return value;
  };
  const size_t end = input.size() - kTrailer;
  const uint64_t blocks_at = number(end);
  if (blocks_at > end) return;
  for (uint64_t at = blocks_at; at + sizeof(IndexBlock) <= end; at += sizeof(IndexBlock)) {
    const uint64_t position = number(at + 16);
    const uint64_t size = (number(at + 8) & 127) * IndexBlock::kRecords / 8;
    if (position > blocks_at || size > blocks_at - position) break;
    const uint32_t crc = Crc32c(input.data() + position, size);
    std::memcpy(input.data() + at + 24, &crc, sizeof(crc));
  }
  const uint32_t crc = Crc32c(input.data() + blocks_at, end - blocks_at);
  std::memcpy(input.data() + end + 24, &crc, sizeof(crc));
}

const RegisterTarget indexed({"indexed_lines", Lines, RunIndexed});
const RegisterTarget index_file({"record_index", Indexes, RunIndex, RepairIndex});
const RegisterTarget tf_record({"tf_record", TfRecords, Files("tf_record", ""), RepairTfRecords});
const RegisterTarget tar({"tar", TarFiles, RunTar, RepairTar});
const RegisterTarget text_line({"text_line", Lines, Files("text_line", "")});
const RegisterTarget csv({"csv_record", CsvFiles, Files("csv_record", "")});
const RegisterTarget fixed({"fixed_length", Lines, RunFixedLength});

}  // namespace
}  // namespace penstock::fuzz
