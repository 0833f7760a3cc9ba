// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {

/// A compiled kernel: one command stream for each program of its launch, and the tensors that a
/// host loads before and reads after it. docs/program_format.md describes the bytes.
struct ProgramFile {
  /// A tensor that the host loads or reads, spread over the programs.
  struct Tensor {
    struct Rows {
      Index begin = 0;
      Index count = 0;
    };
    /// What one program holds: blocks of rows, stacked in that order, all of the same columns.
    struct Part {
      std::uint32_t program = 0;
      TensorHandle handle;  ///< in the HBM of that program's PE
      std::vector<Rows> rows;
      Index first_col = 0;
      Index cols = 0;
    };
    std::string name;
    bool is_output = false;
    DType dtype = DType::f16;
    Shape shape;  ///< of the whole
    std::vector<Index>
        file_shape;  ///< of the whole in a safetensors file: same entries, same order
    /// Of those programs that hold something. Those of an output have each entry at least once.
    std::vector<Part> parts;
  };
  struct Stream {
    std::uint32_t pe = 0;
    Program program;
    std::size_t offset = 0;  ///< of its records in the file that it was read from
    std::size_t size = 0;    ///< of those
  };

  std::string title;                ///< what was compiled: `gqa_decode variant=opt2 ..`
  std::uint64_t hbm_bytes = 0;      ///< of a PE that it needs: all its HBM tensors lie below
  std::uint64_t scratch_bytes = 0;  ///< of TCM that it needs
  std::uint64_t tiles = 1;          ///< that summaries divide by (R13.1)
  std::uint32_t table_entries = kDefaultHandleTableEntries;  ///< of the handle table that it needs
  std::vector<Tensor> tensors;
  std::vector<Stream> streams;  ///< by program
};

std::vector<std::uint8_t> to_bytes(const ProgramFile& file);
/// Throws InputError, which begins with `name`, for bytes that are no program file, are cut short
/// or were changed (CRC-32), or hold a record that is refused.
ProgramFile parse_program_file(const std::vector<std::uint8_t>& bytes, std::string_view name);
/// The bytes of the file at `path`, whose header has been checked before they are read.
std::vector<std::uint8_t> program_file_bytes(const std::string& path);
/// The same of the file at `path`.
ProgramFile read_program_file(const std::string& path);

}  // namespace kernbench::command
