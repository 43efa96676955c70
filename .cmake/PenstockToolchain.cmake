# Compiler cache, linker and warnings. Nothing here changes a flag of the whole
# tree: penstock_library() and its siblings link the interface targets below.
#
#   penstock::warnings   the warnings of our own code; never of generated code
#   penstock::linker     lld or gold where present; else the compiler's own

# ccache must be told that precompiled headers may be hashed by content.
find_program(PENSTOCK_CCACHE ccache)
mark_as_advanced(PENSTOCK_CCACHE)
if(PENSTOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env "CCACHE_SLOPPINESS=pch_defines,time_macros"
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${PENSTOCK_CCACHE}")
endif()

add_library(penstock_warnings INTERFACE)
add_library(penstock::warnings ALIAS penstock_warnings)
target_compile_options(
  penstock_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wnon-virtual-dtor
            -Wold-style-cast
            -Woverloaded-virtual
            # Designated initialisers leave out what has its default.
            -Wno-missing-field-initializers
            $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

add_library(penstock_linker INTERFACE)
add_library(penstock::linker ALIAS penstock_linker)
find_program(PENSTOCK_LLD ld.lld)
find_program(PENSTOCK_GOLD ld.gold)
mark_as_advanced(PENSTOCK_LLD PENSTOCK_GOLD)
if(PENSTOCK_LLD)
  target_link_options(penstock_linker INTERFACE -fuse-ld=lld)
elseif(PENSTOCK_GOLD)
  target_link_options(penstock_linker INTERFACE -fuse-ld=gold)
endif()
