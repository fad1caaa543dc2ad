// Checks the CUDA driver on a machine with a GPU, and measures it: what
// scripts/gpu-check runs.
//
// Equality: random batches of every pad mode, mask and type are filled on the
// device and by the CPU driver, with buffers that are aligned to their elements
// only and lie between canaries, on the default and on another stream, with the
// segments as parameters and as a table in the memory of the device; and graphs
// are captured and replayed for other batches. Bandwidth: outputs in several
// buffers in turn, together larger than the caches, beside a copy within the
// device in the same run.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/fill_plan.h"
#include "packhouse/cuda.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

[[noreturn]] void Fail(const std::string& text) {
  std::fprintf(stderr, "gpu_check: %s\n", text.c_str());
  std::exit(1);
}

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  Fail(absl::StrCat(cudaGetErrorName(error), ": ", cudaGetErrorString(error)));
}

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(std::string(status.message()));
}

// Memory of the device that lives as long as this does.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) {
    Check(cudaMalloc(&data_, static_cast<size_t>(bytes < 1 ? 1 : bytes)));
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

Tensor OnDevice(Tensor tensor, void* data) {
  tensor.data = data;
  tensor.device = {DeviceType::kCuda, 0};
  return tensor;
}

// An output on the device, with the canaries of a Memory of the host.
class Mirror {
 public:
  explicit Mirror(const Memory& host)
      : host_(host), device_(static_cast<int64_t>(host.store().size())) {
    Check(cudaMemcpy(device_.data(), host.store().data(), host.store().size(),
                     cudaMemcpyHostToDevice));
  }

  Tensor tensor() const {
    const auto* begin = static_cast<const uint8_t*>(host_.tensor().data);
    return OnDevice(host_.tensor(), static_cast<uint8_t*>(device_.data()) +
                                        (begin - host_.store().data()));
  }

  // What the device has, byte by byte with what is round it.
  std::vector<uint8_t> Fetch() const {
    std::vector<uint8_t> bytes(host_.store().size());
    Check(cudaMemcpy(bytes.data(), device_.data(), bytes.size(),
                     cudaMemcpyDeviceToHost));
    return bytes;
  }

 private:
  const Memory& host_;
  Buffer device_;
};

// The sources of one batch after another, at one place of the device.
class DeviceSources {
 public:
  explicit DeviceSources(int64_t max_tokens)
      : ids_(max_tokens * 4), labels_(max_tokens * 4) {}

  Sources Load(TestBatch* batch) {
    Sources sources = batch->sources();
    sources.tokens = Copied(*sources.tokens, ids_);
    sources.labels = Copied(*sources.labels, labels_);
    return sources;
  }

 private:
  static Tensor Copied(const Tensor& host, const Buffer& to) {
    Check(cudaMemcpy(to.data(), host.data,
                     static_cast<size_t>(Elements(host.shape) * 4),
                     cudaMemcpyHostToDevice));
    return OnDevice(host, to.data());
  }

  Buffer ids_;
  Buffer labels_;
};

// A table, written to pinned memory and copied on a stream.
class Table {
 public:
  explicit Table(int64_t max_segments)
      : max_segments_(max_segments),
        bytes_(*CudaTableBytes(max_segments)),
        device_(bytes_) {
    Check(cudaMallocHost(&pinned_, static_cast<size_t>(bytes_)));
  }
  ~Table() { cudaFreeHost(pinned_); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void Write(const BatchLayout& layout) {
    Check(WriteCudaTable(layout, max_segments_, pinned_, bytes_));
  }
  void Copy(cudaStream_t stream) {
    Check(cudaMemcpyAsync(device_.data(), pinned_, static_cast<size_t>(bytes_),
                          cudaMemcpyHostToDevice, stream));
  }
  const void* data() const { return device_.data(); }

 private:
  const int64_t max_segments_;
  const int64_t bytes_;
  void* pinned_ = nullptr;
  Buffer device_;
};

// Outputs of a batch on both sides.
class Pair {
 public:
  Pair(const BatchLayout& layout, const FormatOptions& options,
       const std::vector<Format>& formats, int skew, size_t type) {
    for (Format format : formats) {
      const FormatShape shape = *ShapeOf(format, layout, options);
      const DType dtype = shape.dtypes[type % shape.dtypes.size()];
      const int64_t pitch =
          format == Format::kDenseMask ? shape.shape.back() + skew : 0;
      formats_.push_back(format);
      host_.push_back(
          std::make_unique<Memory>(dtype, shape.shape, skew, pitch));
      device_.push_back(std::make_unique<Mirror>(*host_.back()));
    }
  }

  std::vector<Output> OnHost() const {
    std::vector<Output> outputs;
    for (size_t i = 0; i < formats_.size(); ++i) {
      outputs.push_back({formats_[i], host_[i]->tensor()});
    }
    return outputs;
  }
  std::vector<Output> OnGpu() const {
    std::vector<Output> outputs;
    for (size_t i = 0; i < formats_.size(); ++i) {
      outputs.push_back({formats_[i], device_[i]->tensor()});
    }
    return outputs;
  }

  void ExpectEqual(const std::string& what) const {
    for (size_t i = 0; i < formats_.size(); ++i) {
      if (device_[i]->Fetch() == host_[i]->store()) continue;
      Fail(absl::StrCat(FormatName(formats_[i]), " differs: ", what));
    }
  }

 private:
  std::vector<Format> formats_;
  std::vector<std::unique_ptr<Memory>> host_;
  std::vector<std::unique_ptr<Mirror>> device_;
};

std::vector<Format> DeviceFormats(const BatchLayout& layout,
                                  const FormatOptions& options) {
  std::vector<Format> formats;
  for (Format format : FormatsOf(layout, options)) {
    if (KindOf(format) != FormatKind::kHostOnly) formats.push_back(format);
  }
  return formats;
}

void CheckOne(uint32_t seed, cudaStream_t stream) {
  BatchMaker maker(seed);
  TestBatch batch = maker.Any(seed % 10 == 0 ? 900 : 60);
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows, batch.origins);
  const Pair pair(layout, batch.options, DeviceFormats(layout, batch.options),
                  maker.Draw(0, 3), maker.Draw(0, 3));
  Check(Fill(layout, batch.options, batch.sources(), pair.OnHost()));

  DeviceSources memory_of_sources(layout.sequence_tokens());
  const Sources sources = memory_of_sources.Load(&batch);
  const Buffer workspace(CudaWorkspaceBytes(layout, batch.options));
  Table table(layout.segments());
  CudaMemory memory;
  memory.workspace = workspace.data();
  memory.workspace_bytes = CudaWorkspaceBytes(layout, batch.options);
  if (layout.segments() > kMaxInlineSegments || seed % 2 == 1) {
    table.Write(layout);
    table.Copy(stream);
    memory.table = table.data();
  }
  Check(
      FillOnCuda(layout, batch.options, sources, pair.OnGpu(), memory, stream));
  Check(cudaStreamSynchronize(stream));
  pair.ExpectEqual(absl::StrCat("seed ", seed, ": ", batch.text()));
}

// Formats whose sizes stay from batch to batch.
std::vector<Format> ReplayedFormats(const BatchLayout& layout,
                                    const FormatOptions& options) {
  std::vector<Format> formats;
  for (Format format : DeviceFormats(layout, options)) {
    if (format == Format::kUnpadIndices || format == Format::kCpIndices ||
        format == Format::kCpInverse) {
      continue;
    }
    formats.push_back(format);
  }
  return formats;
}

// One graph, captured with the first batch and replayed with others.
void CheckReplay(uint32_t seed, cudaStream_t stream) {
  BatchMaker maker(seed);
  constexpr int kTokens = 96;
  const PadMode mode = static_cast<PadMode>(maker.Draw(0, 5));
  if (mode == PadMode::kTrim) return;
  TestBatch batch = maker.Any(kTokens);
  batch.spec = RowsOf(kTokens);
  batch.spec.pad_mode = mode;
  batch.options.max_segments = 3 * kTokens;
  batch.options.row_width = kTokens;
  const auto draw = [&] {
    batch.rows.clear();
    batch.ids.clear();
    batch.origins.clear();
    for (int row = 0; row < 3; ++row) {
      std::vector<uint32_t> lengths;
      int left = kTokens;
      while (left > 0 && maker.Draw(0, 9) > 0) {
        lengths.push_back(maker.Draw(1, left));
        left -= static_cast<int>(lengths.back());
      }
      batch.rows.push_back(lengths);
      for (uint32_t length : lengths) {
        for (uint32_t i = 0; i < length; ++i) batch.ids.push_back(i);
      }
    }
    batch.labels = batch.ids;
    return *LayoutOf(batch.spec, batch.rows);
  };
  BatchLayout layout = draw();
  const std::vector<Format> formats = ReplayedFormats(layout, batch.options);
  const Pair pair(layout, batch.options, formats, maker.Draw(0, 3), 0);
  DeviceSources memory_of_sources(3 * kTokens);
  const Sources sources = memory_of_sources.Load(&batch);
  Table table(batch.options.max_segments);
  const Buffer workspace(CudaWorkspaceBytes(layout, batch.options));
  CudaMemory memory;
  memory.table = table.data();
  memory.workspace = workspace.data();
  memory.workspace_bytes = CudaWorkspaceBytes(layout, batch.options);
  memory.replayed = true;

  cudaGraph_t graph;
  cudaGraphExec_t replay;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  table.Copy(stream);
  Check(
      FillOnCuda(layout, batch.options, sources, pair.OnGpu(), memory, stream));
  Check(cudaStreamEndCapture(stream, &graph));
  Check(cudaGraphInstantiate(&replay, graph, 0));
  for (int step = 0; step < 5; ++step) {
    if (step > 0) layout = draw();
    memory_of_sources.Load(&batch);
    table.Write(layout);
    Check(cudaGraphLaunch(replay, stream));
    Check(cudaStreamSynchronize(stream));
    Check(Fill(layout, batch.options, batch.sources(), pair.OnHost()));
    pair.ExpectEqual(
        absl::StrCat("replay ", step, " of seed ", seed, ": ", batch.text()));
  }
  Check(cudaGraphExecDestroy(replay));
  Check(cudaGraphDestroy(graph));
}

// ---------------------------------------------------------------- bandwidth --

class Timer {
 public:
  Timer() {
    Check(cudaEventCreate(&begin_));
    Check(cudaEventCreate(&end_));
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Microseconds of one of `times` calls, which get the number of the call.
  template <typename Call>
  double Us(int times, cudaStream_t stream, const Call& call) {
    for (int i = 0; i < 3; ++i) call(i);
    Check(cudaEventRecord(begin_, stream));
    for (int i = 0; i < times; ++i) call(i);
    Check(cudaEventRecord(end_, stream));
    Check(cudaEventSynchronize(end_));
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3 / times;
  }

 private:
  cudaEvent_t begin_;
  cudaEvent_t end_;
};

struct Measured {
  std::string what;
  double megabytes;
  double us;
  double gb_per_s;
  double percent_of_copy;
};

BatchLayout Documents(int64_t rows, int64_t tokens) {
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> offsets = {0};
  for (int64_t row = 0; row < rows; ++row) {
    int64_t left = tokens;
    for (uint32_t length = 37; left > 0; length = length * 7 % 4001 + 1) {
      lengths.push_back(static_cast<uint32_t>(std::min<int64_t>(left, length)));
      left -= lengths.back();
    }
    offsets.push_back(lengths.size());
  }
  return *BatchLayout::Make(RowsOf(tokens), lengths, offsets);
}

// Bytes that rotate: more than twice the caches of any GPU.
constexpr int64_t kRotated = int64_t{1} << 30;

Measured Measure(const std::string& what, const BatchLayout& layout,
                 const std::vector<Format>& formats, DType dense,
                 cudaStream_t stream) {
  int64_t bytes = 0;
  std::vector<FormatShape> shapes;
  std::vector<DType> dtypes;
  for (Format format : formats) {
    shapes.push_back(*ShapeOf(format, layout, {}));
    dtypes.push_back(format == Format::kDenseMask ? dense
                                                  : shapes.back().dtypes[0]);
    const int64_t size =
        Elements(shapes.back().shape) * DTypeBytes(dtypes.back());
    bytes += (size + 255) / 256 * 256;
  }
  const int64_t copies = std::max<int64_t>(2, kRotated / bytes);
  const Buffer memory(copies * bytes);
  const Buffer ids(layout.tokens() * 4);
  std::vector<std::vector<Output>> outputs(copies);
  for (int64_t copy = 0; copy < copies; ++copy) {
    int64_t at = copy * bytes;
    for (size_t i = 0; i < formats.size(); ++i) {
      Tensor tensor;
      tensor.dtype = dtypes[i];
      tensor.shape = shapes[i].shape;
      outputs[copy].push_back(
          {formats[i],
           OnDevice(tensor, static_cast<char*>(memory.data()) + at)});
      const int64_t size = Elements(tensor.shape) * DTypeBytes(tensor.dtype);
      at += (size + 255) / 256 * 256;
    }
  }
  Table table(layout.segments());
  table.Write(layout);
  table.Copy(stream);
  CudaMemory device;
  device.table = table.data();
  Sources sources;
  Tensor tokens;
  tokens.shape = {layout.sequence_tokens()};
  sources.tokens = OnDevice(tokens, ids.data());

  const int times = bytes > (64 << 20) ? 20 : 400;
  Timer timer;
  Measured measured;
  measured.what = what;
  measured.megabytes = static_cast<double>(bytes) / 1e6;
  measured.us = timer.Us(times, stream, [&](int i) {
    Check(FillOnCuda(layout, {}, sources, outputs[i % copies], device, stream));
  });
  // A copy of half the bytes reads and writes as many as are written here.
  const double copy_us = timer.Us(times, stream, [&](int i) {
    char* const to = static_cast<char*>(memory.data()) + i % copies * bytes;
    Check(cudaMemcpyAsync(to, to + bytes / 2, static_cast<size_t>(bytes / 2),
                          cudaMemcpyDeviceToDevice, stream));
  });
  measured.gb_per_s = static_cast<double>(bytes) / measured.us / 1e3;
  measured.percent_of_copy = 100 * copy_us / measured.us;
  return measured;
}

std::vector<Measured> MeasureAll(cudaStream_t stream) {
  const std::vector<Format> tokens = {Format::kInputIds, Format::kLabels,
                                      Format::kPositionIds,
                                      Format::kSegmentIds};
  std::vector<Measured> all;
  const auto add = [&](const char* what, int64_t rows, int64_t row_tokens,
                       const std::vector<Format>& formats, DType dense) {
    all.push_back(
        Measure(what, Documents(rows, row_tokens), formats, dense, stream));
  };
  const auto add_dense = [&](const char* what, int64_t rows, int64_t row_tokens,
                             DType dtype) {
    add(what, rows, row_tokens, {Format::kDenseMask}, dtype);
  };
  add("tokens, T = 8192", 1, 8192, tokens, DType::kBool);
  add("tokens, T = 131072", 1, 131072, tokens, DType::kBool);
  add("BlockMask, S = 16384", 1, 16384, BlockFormats(), DType::kBool);
  add("BlockMask, S = 131072", 1, 131072, BlockFormats(), DType::kBool);
  add("BlockMask, 8 x S = 131072", 8, 131072, BlockFormats(), DType::kBool);
  add_dense("dense bool, S = 2048", 1, 2048, DType::kBool);
  add_dense("dense bool, 8 x S = 8192", 8, 8192, DType::kBool);
  add_dense("dense bfloat16, S = 16384", 1, 16384, DType::kBFloat16);
  add_dense("dense float32, S = 16384", 1, 16384, DType::kFloat32);
  return all;
}

void PrintJson(const std::string& gpu, uint32_t batches,
               const std::vector<Measured>& rows) {
  std::printf("{\"gpu\":\"%s\",\"batches\":%u,\"rows\":[", gpu.c_str(),
              batches);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::printf(
        "%s{\"what\":\"%s\",\"megabytes\":%.3f,\"us\":%.3f,\"gb_per_s\":%.1f,"
        "\"percent_of_copy\":%.1f}",
        i == 0 ? "" : ",", rows[i].what.c_str(), rows[i].megabytes, rows[i].us,
        rows[i].gb_per_s, rows[i].percent_of_copy);
  }
  std::printf("]}\n");
}

void PrintTable(const std::vector<Measured>& rows) {
  std::printf("%-28s %10s %10s %8s %10s\n", "what", "MB", "us", "GB/s",
              "% of copy");
  for (const Measured& row : rows) {
    std::printf("%-28s %10.2f %10.2f %8.0f %10.1f\n", row.what.c_str(),
                row.megabytes, row.us, row.gb_per_s, row.percent_of_copy);
  }
}

int Run(uint32_t batches, bool bandwidth, bool json) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(
        json ? stderr : stdout, "skipped: no GPU can be reached (%s)\n",
        error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
    if (json) std::printf("{\"skipped\":true}\n");
    return 0;
  }
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0));
  std::FILE* const words = json ? stderr : stdout;
  std::fprintf(words, "%s, compute capability %d.%d\n", properties.name,
               properties.major, properties.minor);
  cudaStream_t other;
  Check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (uint32_t seed = 0; seed < batches; ++seed) {
    CheckOne(seed, seed % 3 == 0 ? nullptr : other);
  }
  std::fprintf(words, "%u random batches: every format equals the CPU's\n",
               batches);
  for (uint32_t seed = 0; seed < batches / 20; ++seed) CheckReplay(seed, other);
  std::fprintf(words, "%u graphs replayed for other batches: equal\n",
               batches / 20);
  std::vector<Measured> rows;
  if (bandwidth) rows = MeasureAll(other);
  if (json) {
    PrintJson(properties.name, batches, rows);
  } else if (bandwidth) {
    PrintTable(rows);
  }
  Check(cudaStreamDestroy(other));
  return 0;
}

}  // namespace
}  // namespace packhouse

int main(int argc, char** argv) {
  uint32_t batches = 3000;
  bool bandwidth = true;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--no-bandwidth") {
      bandwidth = false;
    } else if (argument.rfind("--batches=", 0) == 0) {
      batches = static_cast<uint32_t>(std::atoi(argument.c_str() + 10));
    } else {
      std::fprintf(stderr, "gpu_check: unknown option '%s'\n", argv[i]);
      return 2;
    }
  }
  return packhouse::Run(batches, bandwidth, json);
}
