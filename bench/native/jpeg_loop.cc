// The limit of the demo: threads that make the passes of its map function, with no pipeline at all.
//
//   jpeg_loop FOLDER [--threads N] [--seconds S] [--bytes]
//
// With --bytes the result is uint8, cut towards zero, instead of float32 in 0..1.
// Prints one JSON line: images per second with 1 and with N threads, and what each pass costs a
// single thread. Every pass writes a buffer of its own, as the calls in the map function do.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "compute/op_registry.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSide = 224;   // pixels
constexpr int64_t kBatch = 64;   // images
constexpr double kKeep = 0.875;  // of each side, by the random crop
constexpr std::array kPasses = {"read", "decode", "crop", "resize", "flip", "scale", "batch"};

using Times = std::array<double, kPasses.size()>;  // seconds

Args DecodeArgs() {
  Args args("image.decode_jpeg");
  args.Set("channels", int64_t{3});
  args.Set("ratio", int64_t{1});
  args.Set("fancy_upscaling", true);
  args.Set("try_recover_truncated", false);
  args.Set("acceptable_fraction", 1.0);
  args.Set("dct_method", std::string());
  return args;
}

Args ResizeArgs() {
  Args args("image.resize");
  args.Set("method", std::string("bilinear"));
  args.Set("preserve_aspect_ratio", false);
  args.Set("antialias", false);
  return args;
}

Args CastArgs() {
  Args args("cast");
  args.Set("dtype", std::string("uint8"));
  return args;
}

Tensor Numbers(std::initializer_list<int64_t> values) {
  Tensor made = Tensor::Make(DType::Of(TypeCode::kInt64), {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, reinterpret_cast<int64_t*>(made.mutable_data()));
  return made;
}

Tensor SizeOfCrop(const Shape& image) {
  auto kept = [](int64_t size) { return static_cast<int64_t>(kKeep * static_cast<double>(size)); };
  return Numbers({kept(image[0]), kept(image[1]), 3});
}

Tensor Call(const Op& op, std::vector<Tensor> inputs, RandomKey key = {}) {
  return std::move(op.Call(inputs, key)[0]);
}

Tensor Scale(const Tensor& image) {
  Tensor out = Tensor::Make(image.dtype(), image.shape());
  auto* __restrict from = reinterpret_cast<const float*>(image.data());
  auto* __restrict to = reinterpret_cast<float*>(out.mutable_data());
  const int64_t count = image.elements();
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] * (1.0f / 255.0f);
  return out;
}

// What one thread does: images of the folder by a common counter, batches of its own.
class Worker {
 public:
  Worker(const std::vector<std::string>& paths, std::atomic<int64_t>& next, Clock::time_point end,
         bool bytes)
      : paths_(paths), next_(next), end_(end), bytes_(bytes) {}

  void Run() {
    while (Clock::now() < end_) {
      // relaxed: a ticket, nothing else is published through it.
      int64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
      One(ticket);
      ++images_;
    }
  }

  int64_t images() const { return images_; }
  const Times& times() const { return times_; }

 private:
  void One(int64_t ticket) {
    RandomKey key = RandomKey{1}.Fold(static_cast<uint64_t>(ticket));
    const std::string& path = paths_[static_cast<size_t>(ticket) % paths_.size()];
    auto start = Clock::now();
    size_t pass = 0;
    auto lap = [&] {
      auto now = Clock::now();
      times_[pass++] += std::chrono::duration<double>(now - start).count();
      start = now;
    };
    Tensor contents = Call(*read_, {Tensor::String(TypeCode::kText, path)});
    lap();
    Tensor image = Call(*decode_, {std::move(contents)});
    lap();
    image = Call(*crop_, {image, SizeOfCrop(image.shape())}, key.Fold(0));
    lap();
    image = Call(*resize_, {std::move(image), Numbers({kSide, kSide})});
    lap();
    image = Call(*flip_, {std::move(image)}, key.Fold(1));
    lap();
    image = bytes_ ? Call(*cast_, {std::move(image)}) : Scale(image);
    lap();
    int64_t row = images_ % kBatch;
    if (row == 0) batch_ = Tensor::Make(image.dtype(), image.shape().Prepend(kBatch));
    std::memcpy(batch_.mutable_data() + static_cast<size_t>(row) * image.nbytes(), image.data(),
                image.nbytes());
    lap();
  }

  const std::vector<std::string>& paths_;
  std::atomic<int64_t>& next_;
  Clock::time_point end_;
  const bool bytes_;
  std::unique_ptr<const Op> cast_ = MakeOp("cast", CastArgs());
  std::unique_ptr<const Op> read_ = MakeOp("io.read_file", Args("io.read_file"));
  std::unique_ptr<const Op> decode_ = MakeOp("image.decode_jpeg", DecodeArgs());
  std::unique_ptr<const Op> crop_ = MakeOp("image.random_crop", Args("image.random_crop"));
  std::unique_ptr<const Op> resize_ = MakeOp("image.resize", ResizeArgs());
  std::unique_ptr<const Op> flip_ =
      MakeOp("image.random_flip_left_right", Args("image.random_flip_left_right"));
  Tensor batch_;
  int64_t images_ = 0;
  Times times_{};
};

struct Result {
  double images_per_second = 0;
  Times microseconds{};  // per image, of one thread
};

Result Measure(const std::vector<std::string>& paths, int threads, double seconds, bool bytes) {
  std::atomic<int64_t> next{0};
  auto start = Clock::now();
  auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<Worker> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(paths, next, end, bytes);
  std::vector<std::thread> running;
  for (Worker& worker : workers) running.emplace_back([&worker] { worker.Run(); });
  for (std::thread& thread : running) thread.join();
  double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  Result result;
  int64_t images = 0;
  for (const Worker& worker : workers) {
    images += worker.images();
    for (size_t i = 0; i < kPasses.size(); ++i) result.microseconds[i] += 1e6 * worker.times()[i];
  }
  for (double& time : result.microseconds)
    time /= static_cast<double>(std::max<int64_t>(images, 1));
  result.images_per_second = static_cast<double>(images) / elapsed;
  return result;
}

std::vector<std::string> JpegsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string extension = entry.path().extension().string();
    if (extension == ".jpg" || extension == ".jpeg" || extension == ".JPEG") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int Main(int argc, char** argv) {
  std::string folder;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  double seconds = 4;
  bool bytes = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc) {
      threads = std::max(1, std::stoi(argv[++i]));
    } else if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::stod(argv[++i]);
    } else if (argument == "--bytes") {
      bytes = true;
    } else {
      folder = argument;
    }
  }
  std::vector<std::string> paths;
  if (!folder.empty()) paths = JpegsIn(folder);
  if (paths.empty()) {
    std::fprintf(
        stderr,
        "usage: jpeg_loop FOLDER [--threads N] [--seconds S] [--bytes]; FOLDER has JPEGs\n");
    return 2;
  }
  Measure(paths, 1, seconds / 4, bytes);  // page cache, buffers, clock rate
  Result one = Measure(paths, 1, seconds, bytes);
  Result many = Measure(paths, threads, seconds, bytes);
  std::printf("{\"files\": %zu, \"images_per_second\": {\"1\": %.1f", paths.size(),
              one.images_per_second);
  if (threads > 1) std::printf(", \"%d\": %.1f", threads, many.images_per_second);
  std::printf("}, \"microseconds_per_image\": {");
  for (size_t i = 0; i < kPasses.size(); ++i) {
    std::printf("%s\"%s\": %.1f", i ? ", " : "", kPasses[i], one.microseconds[i]);
  }
  std::printf("}}\n");
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "jpeg_loop: %s\n", error.what());
    return 1;
  }
}
