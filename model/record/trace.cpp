// SPDX-License-Identifier: Apache-2.0
#include "model/record/trace.hpp"

#include <fmt/format.h>

namespace kernbench::record {
namespace {

constexpr std::uint64_t kTracksPerEngine = 1000;

// Sorts engines in the order of the data flow, and channels after their engine.
std::uint64_t track_of(const StageRecord& record) {
  return (static_cast<std::uint64_t>(record.engine) + 1) * kTracksPerEngine + record.channel;
}

std::uint64_t process_of(const StageRecord& record) { return record.pe + std::uint64_t{1}; }

void write_string(OutputFile& file, std::string_view text) {
  file.put('"');
  for (char c : text) {
    if (c == '"' || c == '\\') {
      file.put('\\');
      file.put(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      file.write(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
    } else {
      file.put(c);
    }
  }
  file.put('"');
}

void write_microseconds(OutputFile& file, Picoseconds time) {
  file.write_decimal(time / 1000000);
  file.put('.');
  const Picoseconds fraction = time % 1000000;
  for (Picoseconds unit = 100000; unit != 0; unit /= 10) {
    file.put(static_cast<char>('0' + fraction / unit % 10));
  }
}

void write_argument(OutputFile& file, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  file.write(",\"");
  file.write(name);
  file.write("\":");
  write_string(file, text);
}

void write_argument(OutputFile& file, std::string_view name, std::uint64_t value) {
  file.write(",\"");
  file.write(name);
  file.write("\":");
  file.write_decimal(value);
}

void write_index(OutputFile& file, std::string_view name, std::int64_t value) {
  if (value >= 0) write_argument(file, name, static_cast<std::uint64_t>(value));
}

}  // namespace

Trace::Trace(const std::string& path, const arch::TopologyConfig& topology) : Trace(path) {
  for (const PeScope& pe : scopes_of(topology)) add_pe(pe);
}

Trace::Trace(const std::string& path) : file_(path) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

std::string Trace::pe_name(std::uint32_t number) const {
  const auto found = names_.find(number);
  return found != names_.end() ? found->second : fmt::format("PE {}", number);
}

// The name that a reader of the timeline looks for first.
void Trace::write_event_name(const StageRecord& record) {
  switch (record.stage) {
    case arch::StageKind::dispatch:
    case arch::StageKind::math:
      write_string(file_, record.op);
      return;
    case arch::StageKind::dma_read:
    case arch::StageKind::dma_write:
      write_string(file_, fmt::format("{} {}", to_string(record.stage), record.operand));
      return;
    case arch::StageKind::send:
    case arch::StageKind::recv:
      write_string(file_, fmt::format("{} {}", to_string(record.stage), pe_name(peer_of(record))));
      return;
    default:
      write_string(file_, to_string(record.stage));
  }
}

void Trace::record(const StageRecord& record) {
  name_track(record);
  begin_event();
  file_.write("{\"ph\":\"X\",\"pid\":");
  file_.write_decimal(process_of(record));
  file_.write(",\"tid\":");
  file_.write_decimal(track_of(record));
  file_.write(",\"ts\":");
  write_microseconds(file_, record.start);
  file_.write(",\"dur\":");
  write_microseconds(file_, record.end - record.start);
  file_.write(",\"cat\":");
  write_string(file_, is_stall(record.stage) ? "stall" : "stage");
  file_.write(",\"name\":");
  write_event_name(record);
  file_.write(",\"args\":{\"stage\":");
  write_string(file_, to_string(record.stage));
  write_argument(file_, "op", record.op);
  write_index(file_, "cmd", record.cmd);
  write_index(file_, "op_index", record.op_index);
  const bool message = is_message(record.stage);
  write_index(file_, message ? "slot" : "tile_m", record.tile.m);
  write_index(file_, message ? "peer" : "tile_n", record.tile.n);
  write_index(file_, message ? "channel" : "tile_k", record.tile.k);
  write_argument(file_, "operand", record.operand);
  if (record.has_addr) write_argument(file_, "addr", fmt::format("{:#x}", record.addr));
  if (record.bytes != 0) write_argument(file_, "bytes", record.bytes);
  if (record.elements != 0) write_argument(file_, "elements", record.elements);
  if (record.done != record.end) write_argument(file_, "done_ps", record.done);
  file_.write("}}");
}

void Trace::finish(Picoseconds /*end*/) {
  file_.write("\n]");
  if (!machine_.empty()) {
    file_.write(",\"otherData\":{\"machine\":");
    write_string(file_, machine_);
    file_.put('}');
  }
  file_.write("}\n");
  file_.commit();
}

void Trace::begin_event() {
  file_.write(any_event_ ? ",\n" : "\n");
  any_event_ = true;
}

void Trace::name_track(const StageRecord& record) {
  if (!tracks_.insert({record.pe, track_of(record)}).second) return;
  if (pes_.insert(record.pe).second) {
    write_metadata("process", process_of(record), 0, pe_name(record.pe), record.pe);
  }
  write_metadata("thread", process_of(record), track_of(record),
                 engine_name(record.engine, record.channel), track_of(record));
}

void Trace::write_metadata(std::string_view what, std::uint64_t pid, std::uint64_t tid,
                           const std::string& name, std::uint64_t sort_index) {
  begin_event();
  file_.write(
      fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}_name","args":{{"name":"{}"}}}})", pid,
                  tid, what, name));
  begin_event();
  file_.write(fmt::format(
      R"({{"ph":"M","pid":{},"tid":{},"name":"{}_sort_index","args":{{"sort_index":{}}}}})", pid,
      tid, what, sort_index));
}

}  // namespace kernbench::record
