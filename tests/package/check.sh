#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh <build folder> [<jobs>]: installs KernBench from there, moves what it has installed, and
# builds and runs projects outside of the tree with it, and with the sources as a subfolder. A line a
# check; what is left behind is removed.
set -euo pipefail

sources=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1

fail() {
  printf 'package: %s: FAILED\n' "$1" >&2
  cat "$scratch/log" >&2
  exit 1
}
# check <what> <command>...: succeeds.
check() {
  "${@:2}" >"$scratch/log" 2>&1 || fail "$1"
  printf 'package: %s: ok\n' "$1"
}
# refused <what> <words> <command>...: fails and says these words; CMake breaks lines.
refused() {
  "${@:3}" >"$scratch/log" 2>&1 && fail "$1 (was accepted)"
  tr -s ' \n' ' ' <"$scratch/log" | grep -qF "$2" || fail "$1 (does not say '$2')"
  printf 'package: %s: ok\n' "$1"
}
# has <words> <file>, lacks <words> <file>, none_below <words> <folder>.
none_below() { ! grep -rlF -- "$1" "$2"; }
has() { grep -F -- "$1" "$2"; }
lacks() { ! grep -E -- "$1" "$2"; }
configure() { cmake -G Ninja -S "$scratch/$1" -B "$scratch/$1/build" "${@:2}"; }
compile() { cmake --build "$scratch/$1/build" -j "$jobs" ${2:+--target "${@:2}"}; }

package=-DCMAKE_PREFIX_PATH=$scratch/moved
standard='would be compiled as C++20 (its property CXX_STANDARD, which CMAKE_CXX_STANDARD or target_compile_features sets), but it includes SystemC through KernBench, and libsystemc and KernBench are built as C++17'

check "install" cmake --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/moved"

check "no path of the sources" none_below "$sources/" "$scratch/moved"
check "no path of the build" none_below "$build" "$scratch/moved"
check "the installed compiler" "$scratch/moved/bin/tlc" compile gemm -o "$scratch/gemm.kbp"
check "the installed binary" "$scratch/moved/bin/single_pe" run --program "$scratch/gemm.kbp"

cp -r "$sources/tests/package/consumer" "$scratch/consumer"
cp "$sources/examples/own_kernel/linear_relu.cpp" "$scratch/consumer"
refused "C++20 stops at configure" "$standard" configure consumer "$package" -DCMAKE_CXX_STANDARD=20
check "find_package without a standard" configure consumer "$package" -UCMAKE_CXX_STANDARD
check "building the consumer" compile consumer
check "a PE on the consumer's memory" "$scratch/consumer/build/own_memory"
check "a kernel of the consumer, within tolerance" \
  "$scratch/consumer/build/own_pe" run linear_relu --data
refused "C++20 unseen by CMake stops in the first header" \
  'KernBench and libsystemc are built as C++17' \
  c++ -std=c++20 -fsyntax-only -I "$scratch/moved/include/kernbench" \
  "$scratch/consumer/own_memory.cpp"

# The installed example, which needs every library.
pc=$(dirname "$(find "$scratch/moved" -name kernbench.pc)")
with_pkg_config() {
  local flags
  flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs kernbench) || return
  # shellcheck disable=SC2086 # words
  c++ -std=c++17 "$@" $flags
}
check "a consumer with pkg-config" with_pkg_config -o "$scratch/host_program" \
  "$scratch/moved/share/kernbench/examples/host_program/host_program.cpp"
check "what pkg-config has linked" "$scratch/host_program" \
  "$scratch/moved/share/kernbench/topologies/cube_8pe.yaml"

cp -r "$sources/tests/package/host_consumer" "$scratch/host_consumer"
export PKG_CONFIG_LIBDIR=$scratch
check "find_package without SystemC, as C++20" configure host_consumer "$package" \
  -DCMAKE_DISABLE_FIND_PACKAGE_SystemCLanguage=ON
unset PKG_CONFIG_LIBDIR
check "building the compiler's consumer" compile host_consumer
check "a kernel compiled without SystemC" "$scratch/host_consumer/build/command_bytes"

mkdir "$scratch/subfolder"
cp "$scratch"/consumer/{CMakeLists.txt,*.cpp} "$scratch/subfolder"
subfolder=(subfolder "-DKERNBENCH_SOURCES=$sources" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON)
refused "C++20 stops at configure, as a subfolder" "$standard" \
  configure "${subfolder[@]}" -DCMAKE_CXX_STANDARD=20
check "add_subdirectory" configure "${subfolder[@]}" -UCMAKE_CXX_STANDARD
for option in BUILD_TESTS BUILD_BENCHMARKS BUILD_EXAMPLES WARNINGS_AS_ERRORS INSTALL; do
  check "off in a subfolder: KERNBENCH_$option" \
    has "KERNBENCH_$option:BOOL=OFF" "$scratch/subfolder/build/CMakeCache.txt"
done
grep '"command".*own_memory\.cpp' "$scratch/subfolder/build/compile_commands.json" |
  sed 's/ -fPI[CE]//' >"$scratch/command"
check "no flag of KernBench reaches the consumer" \
  lacks ' -(W|O|g|f|std=)' "$scratch/command"
check "building the consumer with the sources" compile subfolder own_memory
check "a PE on the consumer's memory, from sources" "$scratch/subfolder/build/own_memory"
check "a shared library, position-independent" compile subfolder plugin
