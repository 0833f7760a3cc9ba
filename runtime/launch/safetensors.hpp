// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/record/output_file.hpp"
#include "tlm_if/command/dtype.hpp"

namespace kernbench::runtime {

/// The entry types that can be read and written; the format has more.
enum class FileDType : std::uint8_t { f16, bf16, f32, f64 };
/// As spelled in the file: `F16`, `BF16`, `F32`, `F64`.
std::string_view to_string(FileDType dtype);
FileDType file_dtype(command::DType dtype);

struct FileTensor {
  FileDType dtype = FileDType::f32;
  std::vector<std::int64_t> shape;  ///< row-major; empty for a scalar
  std::vector<double> values;       ///< exact for every dtype
};

/// By name, which is also the order in which they are written.
using FileTensors = std::map<std::string, FileTensor, std::less<>>;

/// Reads a safetensors file: 8 bytes little-endian header length, a JSON header, the data. Strict:
/// the tensors cover the data without gap or overlap, and no header key is given twice. Throws
/// InputError that names the file and, where it applies, the tensor, the value and what is allowed.
FileTensors read_safetensors(const std::string& path);

/// Writes a safetensors file, byte-identical for equal tensors; it appears when complete. Entries
/// of a narrower dtype than f64 are rounded to nearest f32, then to the dtype. Throws InputError if
/// the file cannot be opened.
void write_safetensors(const std::string& path, const FileTensors& tensors);
/// The same into a file that is already open; completes the file.
void write_safetensors(record::OutputFile& file, const FileTensors& tensors);

}  // namespace kernbench::runtime
