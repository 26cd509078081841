// The frame header of a JPEG, read without decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock {

struct JpegHeader {
  int64_t height, width;  // in pixels
  int components;
  bool huffman;  // entropy-coded with Huffman codes: at least one bit per block
};

// "\xFF\xD8\xFF", as in TensorFlow's is_jpeg.
bool StartsAsJpeg(std::string_view contents);

// Throws a DataError of `op` if `contents` is not a JPEG or ends before its frame header.
JpegHeader ReadJpegHeader(const char* op, std::string_view contents);

}  // namespace penstock
