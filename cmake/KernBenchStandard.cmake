# SPDX-License-Identifier: Apache-2.0
# What includes SystemC must have the C++ standard that libsystemc was built with, C++17: any other
# fails to link with a raw version symbol. When all directories of the project have been read, each
# target that includes SystemC through KernBench is looked at: one that has no standard gets C++17 if
# the compiler's default is another, one of another standard is an error that names it.

# Sets <out> to the names of all that the sources of <target> see: <target>, what it links, and what
# that passes on.
function(kernbench_seen_by out target)
  set(seen "")
  set(names "${target}")
  while(names)
    list(POP_FRONT names name)
    if(name IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${name}")
    if(NOT TARGET "${name}")
      continue()
    endif()
    set(property INTERFACE_LINK_LIBRARIES)
    if(name STREQUAL target)
      set(property LINK_LIBRARIES)
    endif()
    get_target_property(links "${name}" ${property})
    if(links)
      # What is only linked is not included.
      list(FILTER links EXCLUDE REGEX "LINK_ONLY")
      # The names within generator expressions.
      string(REPLACE "::" "@@" links "${links}")
      string(REGEX REPLACE "[$<>:,]" ";" links "${links}")
      string(REPLACE "@@" "::" links "${links}")
      list(APPEND names ${links})
    endif()
  endwhile()
  set(${out} "${seen}" PARENT_SCOPE)
endfunction()

function(kernbench_check_standard target)
  get_target_property(type ${target} TYPE)
  if(type MATCHES "^(INTERFACE_LIBRARY|UTILITY)$")
    return()
  endif()
  kernbench_seen_by(seen ${target})
  if(NOT "${seen}" MATCHES "(^|;)KernBench::(systemc|tlm_if|model|runtime)(;|$)")
    return()
  endif()

  get_target_property(standard ${target} CXX_STANDARD)
  set(reason "its property CXX_STANDARD, which CMAKE_CXX_STANDARD or target_compile_features sets")
  if(NOT standard)
    set(standard 17)
    if(NOT CMAKE_CXX_STANDARD_DEFAULT EQUAL 17)
      set_property(TARGET ${target} PROPERTY CXX_STANDARD 17)
    endif()
  endif()
  if(standard EQUAL 98)  # the oldest, not the newest
    set(standard 03)
  endif()
  foreach(name IN LISTS seen)
    if(NOT TARGET "${name}")
      continue()
    endif()
    set(property INTERFACE_COMPILE_FEATURES)
    if(name STREQUAL target)
      set(property COMPILE_FEATURES)
    endif()
    get_target_property(features "${name}" ${property})
    string(REGEX MATCHALL "cxx_std_(1|2)[0-9]" features "${features}")
    foreach(feature IN LISTS features)
      string(REPLACE "cxx_std_" "" asked "${feature}")
      if(asked GREATER standard)
        set(standard ${asked})
        set(reason "the compile feature ${feature} of ${name}")
      endif()
    endforeach()
  endforeach()
  if(standard GREATER 17)
    message(SEND_ERROR
            "KernBench: the target ${target} would be compiled as C++${standard} (${reason}), but it "
            "includes SystemC through KernBench, and libsystemc and KernBench are built as C++17 and "
            "link with nothing else; say set_target_properties(${target} PROPERTIES CXX_STANDARD 17), "
            "and keep C++${standard} code in libraries that do not link KernBench::model.")
  endif()
endfunction()

function(kernbench_check_standards directory)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    kernbench_check_standard(${target})
  endforeach()
  get_property(folders DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    kernbench_check_standards("${folder}")
  endforeach()
endfunction()

get_property(_kernbench_scheduled GLOBAL PROPERTY KERNBENCH_STANDARDS_SCHEDULED)
if(NOT _kernbench_scheduled)
  set_property(GLOBAL PROPERTY KERNBENCH_STANDARDS_SCHEDULED ON)
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}"
                 CALL kernbench_check_standards "${CMAKE_SOURCE_DIR}")
endif()
