# The helpers with which every directory declares its targets.
#
#   penstock_library(penstock_queue
#     SRCS input_queue.cc
#     HDRS input_queue.h
#     DEPS penstock::contract absl::status        # PUBLIC
#     [PCH core|grpc|none])                       # default core
#   Without SRCS the library is header-only. The alias penstock::queue is made.
#
#   penstock_executable(penstock-worker
#     SRCS main.cc DEPS penstock::server [PCH core|grpc|none])
#
#   penstock_test(queue_tests
#     SRCS input_queue_test.cc
#     DEPS penstock::queue penstock::test_support
#     LABELS unit                                 # exactly one; default unit
#     [TIMEOUT 60]                                # seconds, for each TEST
#     [RUN_SERIAL] [ENVIRONMENT A=b]              # one variable at most
#     [WHOLE]                                     # one run for all of its TESTs,
#                                                 # which share something costly
#     [ARGS --flag ...] [NO_MAIN]                 # NO_MAIN: SRCS hold main()
#     [PCH test|grpc_test|none])                  # default test
#
#   penstock_bench(queue_bench
#     SRCS input_queue_bench.cc DEPS penstock::queue [PCH core|grpc|none])
#   ctest only smoke-runs it, under the label bench.
#
#   penstock_fuzzer(ndjson_fuzzer SRCS ndjson_fuzzer.cc DEPS penstock::format)
#   Only with PENSTOCK_FUZZ (preset fuzz); ctest gives it a few thousand runs.
#
#   penstock_proto_library(penstock_proto
#     IMPORT_DIR dir                              # protoc -I, an absolute path
#     PROTOS proto/penstock/v1/a.proto ...        # relative to IMPORT_DIR
#     SERVICES proto/penstock/v1/b.proto ...)     # these get .grpc.pb.* too
#   Writes below <build>/proto, on the SYSTEM include path; names in includes
#   are those of the .proto files. No warnings.
#
# A precompiled header is made once per build and shared by all that name it.
# It never frees a file from its own includes: the clang preset builds without.
#   core       std and absl, what most files of core/ include anyway
#   grpc       core and <grpcpp/grpcpp.h>
#   test       core, gtest and gmock
#   grpc_test  all of it

# While parts are still being written: a missing source or dependency is a
# warning and left out, so that one part does not block the others.
option(PENSTOCK_LENIENT "Warn of missing sources and targets" OFF)

function(_penstock_keep_existing out)
  set(kept)
  foreach(file IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" OR NOT PENSTOCK_LENIENT)
      list(APPEND kept "${file}")
    else()
      message(WARNING "${CMAKE_CURRENT_SOURCE_DIR}/${file} does not exist yet")
    endif()
  endforeach()
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()

function(_penstock_link_now name scope)
  foreach(dep IN LISTS ARGN)
    if(TARGET "${dep}" OR NOT dep MATCHES "::")
      target_link_libraries(${name} ${scope} ${dep})
    else()
      message(WARNING "${name}: no target ${dep} yet")
    endif()
  endforeach()
endfunction()

function(_penstock_link name scope)
  if(PENSTOCK_LENIENT)
    cmake_language(EVAL CODE "cmake_language(DEFER
      DIRECTORY [[${PROJECT_SOURCE_DIR}]]
      CALL _penstock_link_now [[${name}]] [[${scope}]] ${ARGN})")
  else()
    target_link_libraries(${name} ${scope} ${ARGN})
  endif()
endfunction()

set(PENSTOCK_PCH_core
    <algorithm> <atomic> <chrono> <cstddef> <cstdint> <deque> <functional>
    <memory> <optional> <ostream> <span> <string> <type_traits> <utility>
    <variant> <vector>
    <absl/base/thread_annotations.h> <absl/container/flat_hash_map.h>
    <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
    <absl/functional/any_invocable.h> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h>
    <absl/strings/str_format.h> <absl/strings/string_view.h>
    <absl/time/time.h>)
set(PENSTOCK_PCH_grpc ${PENSTOCK_PCH_core} <grpcpp/grpcpp.h>)
set(PENSTOCK_PCH_test ${PENSTOCK_PCH_core} <gmock/gmock.h> <gtest/gtest.h>)
set(PENSTOCK_PCH_grpc_test ${PENSTOCK_PCH_test} <grpcpp/grpcpp.h>)

# Compiling tests is most of a build, and only what they call need be fast. A
# precompiled header and its users need the same flags.
option(PENSTOCK_PLAIN_TESTS "Compile tests without optimisation" OFF)
add_library(penstock_test_flags INTERFACE)
if(PENSTOCK_PLAIN_TESTS)
  target_compile_options(penstock_test_flags INTERFACE -O0)
endif()

# Declares the holder of one precompiled header.
function(_penstock_add_pch kind)
  set(name penstock_pch_${kind})
  set(stub "${PROJECT_BINARY_DIR}/pch/${kind}.cc")
  if(NOT EXISTS "${stub}")
    file(WRITE "${stub}" "// Only the precompiled header of this target counts.\n")
  endif()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${stub}")
  target_link_libraries(${name} PRIVATE penstock::warnings ${ARGN})
  target_precompile_headers(${name} PRIVATE ${PENSTOCK_PCH_${kind}})
  # Lets ccache see through the precompiled header.
  target_compile_options(
    ${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

set(_penstock_absl
    absl::any_invocable absl::flat_hash_map absl::flat_hash_set
    absl::inlined_vector absl::status absl::statusor absl::str_format
    absl::strings absl::time)
_penstock_add_pch(core ${_penstock_absl})
if(NOT PENSTOCK_CORE_ONLY)
  _penstock_add_pch(grpc ${_penstock_absl} gRPC::grpc++)
endif()
if(PENSTOCK_TESTS)
  _penstock_add_pch(test ${_penstock_absl} GTest::gmock penstock_test_flags)
  if(NOT PENSTOCK_CORE_ONLY)
    _penstock_add_pch(grpc_test ${_penstock_absl} GTest::gmock gRPC::grpc++
                      penstock_test_flags)
  endif()
endif()

function(_penstock_use_pch name kind)
  if(kind STREQUAL "none")
    return()
  endif()
  if(NOT TARGET penstock_pch_${kind})
    message(FATAL_ERROR "${name}: no precompiled header named ${kind}")
  endif()
  target_precompile_headers(${name} REUSE_FROM penstock_pch_${kind})
  target_compile_options(
    ${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                    $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# Everything but tests: what the clang preset builds.
add_custom_target(penstock_libraries)

function(penstock_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PCH" "SRCS;HDRS;DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DEFINED arg_PCH)
    set(arg_PCH core)
  endif()
  _penstock_keep_existing(srcs ${arg_SRCS})
  _penstock_keep_existing(hdrs ${arg_HDRS})
  if(srcs)
    set(scope PUBLIC)
    add_library(${name} STATIC ${srcs})
    target_link_libraries(${name} PRIVATE penstock::warnings)
    _penstock_use_pch(${name} ${arg_PCH})
    add_dependencies(penstock_libraries ${name})
  else()
    set(scope INTERFACE)
    add_library(${name} INTERFACE)
  endif()
  string(REGEX REPLACE "^penstock_" "penstock::" alias "${name}")
  add_library(${alias} ALIAS ${name})
  target_sources(
    ${name} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES
                              ${hdrs})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  _penstock_link(${name} ${scope} ${arg_DEPS})
endfunction()

# What executables of every kind share; fails softly when nothing is there yet.
function(_penstock_binary name made)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PCH" "SRCS;DEPS")
  _penstock_keep_existing(srcs ${arg_SRCS})
  if(NOT srcs)
    set(${made} FALSE PARENT_SCOPE)
    return()
  endif()
  add_executable(${name} ${srcs})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE penstock::warnings penstock::linker)
  _penstock_use_pch(${name} ${arg_PCH})
  _penstock_link(${name} PRIVATE ${arg_DEPS})
  set(${made} TRUE PARENT_SCOPE)
endfunction()

function(penstock_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PCH" "SRCS;DEPS")
  if(NOT DEFINED arg_PCH)
    set(arg_PCH core)
  endif()
  _penstock_binary(${name} made PCH ${arg_PCH} SRCS ${arg_SRCS}
                   DEPS ${arg_DEPS})
  # All programs stand together, in <build>/bin.
  if(made)
    add_dependencies(penstock_libraries ${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                             "${PROJECT_BINARY_DIR}/bin")
  endif()
endfunction()

set(PENSTOCK_LABELS unit contract integration simulation chaos bench lint)

function(penstock_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUN_SERIAL;NO_MAIN;WHOLE"
                        "PCH;TIMEOUT;LABELS;ENVIRONMENT"
                        "SRCS;DEPS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DEFINED arg_PCH)
    set(arg_PCH test)
  endif()
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  # gtest_discover_tests() cannot carry a list through PRE_TEST discovery.
  if(NOT arg_LABELS IN_LIST PENSTOCK_LABELS)
    message(FATAL_ERROR "${name}: LABELS is one of ${PENSTOCK_LABELS}")
  endif()
  set(main GTest::gmock)
  if(NOT arg_NO_MAIN)
    list(APPEND main GTest::gmock_main)
  endif()
  _penstock_binary(${name} made PCH ${arg_PCH} SRCS ${arg_SRCS}
                   DEPS ${arg_DEPS} ${main})
  if(NOT made)
    return()
  endif()
  target_link_libraries(${name} PRIVATE penstock_test_flags)
  set(properties LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
  if(arg_RUN_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES ${properties})
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(
    ${name}
    TEST_PREFIX "${name}."
    EXTRA_ARGS ${arg_ARGS}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 30
    PROPERTIES ${properties})
endfunction()

function(penstock_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PCH;TIMEOUT" "SRCS;DEPS")
  if(NOT DEFINED arg_PCH)
    set(arg_PCH core)
  endif()
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  _penstock_binary(${name} made PCH ${arg_PCH} SRCS ${arg_SRCS} DEPS
                   ${arg_DEPS} benchmark::benchmark benchmark::benchmark_main)
  if(NOT made)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name} --benchmark_min_time=0.001)
  set_tests_properties(${name} PROPERTIES LABELS bench TIMEOUT ${arg_TIMEOUT})
endfunction()

function(penstock_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS;DEPS")
  _penstock_binary(${name} made PCH none SRCS ${arg_SRCS} DEPS ${arg_DEPS})
  if(NOT made)
    return()
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_test(NAME ${name} COMMAND ${name} -runs=5000 -seed=1 -max_total_time=60)
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

function(penstock_proto_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "IMPORT_DIR" "PROTOS;SERVICES")
  set(out "${PROJECT_BINARY_DIR}/proto")
  file(MAKE_DIRECTORY "${out}")
  set(generated)
  set(protos ${arg_PROTOS} ${arg_SERVICES})
  list(REMOVE_DUPLICATES protos)
  set(inputs ${protos})
  list(TRANSFORM inputs PREPEND "${arg_IMPORT_DIR}/")
  foreach(proto IN LISTS protos)
    string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
    set(files "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
    set(plugin)
    if(proto IN_LIST arg_SERVICES)
      list(APPEND files "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.grpc.pb.h")
      set(plugin "--grpc_out=${out}"
          "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    endif()
    add_custom_command(
      OUTPUT ${files}
      COMMAND protobuf::protoc "-I${arg_IMPORT_DIR}" "--cpp_out=${out}"
              ${plugin} "${proto}"
      # A change of one .proto may change what the others generate.
      DEPENDS ${inputs}
      COMMENT "protoc ${proto}"
      VERBATIM)
    list(APPEND generated ${files})
  endforeach()
  add_library(${name} STATIC ${generated})
  string(REGEX REPLACE "^penstock_" "penstock::" alias "${name}")
  add_library(${alias} ALIAS ${name})
  target_include_directories(${name} SYSTEM
                             PUBLIC "$<BUILD_INTERFACE:${out}>")
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf gRPC::grpc++)
  # A linker leaves out what no code names, such as the description of a service
  # whose messages stand in other files: reflection would not know it.
  foreach(proto IN LISTS arg_SERVICES)
    string(REPLACE "/" "_2f" symbol "${proto}")
    string(REPLACE "." "_2e" symbol "${symbol}")
    target_link_options(${name} INTERFACE
                        "LINKER:--undefined=descriptor_table_${symbol}")
  endforeach()
  # Not our warnings: generated code answers to its generator.
  target_compile_options(${name} PRIVATE -w)
  _penstock_use_pch(${name} grpc)
endfunction()
