# What `cmake --install` puts where, and the package that others find:
#
#   find_package(Penstock REQUIRED)
#   target_link_libraries(mine PRIVATE Penstock::client)
#
#   bin                       penstock, penstock-worker
#   lib/penstock              static libraries
#   include/penstock          headers, as they are included in the tree
#   lib/cmake/Penstock        the package
#   lib/systemd/system        units
#   share/penstock/proto      the wire contract
#   share/doc/penstock        pages and examples
#
# tests/package builds a project from it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Our targets that `target` links, itself included, in `out`.
function(_penstock_closure out target)
  set(todo ${target})
  set(found)
  while(todo)
    list(POP_FRONT todo next)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" next "${next}")
    if(NOT TARGET "${next}")
      continue()
    endif()
    get_target_property(real "${next}" ALIASED_TARGET)
    if(real)
      set(next "${real}")
    endif()
    get_target_property(imported "${next}" IMPORTED)
    if(imported OR next IN_LIST found)
      continue()
    endif()
    list(APPEND found "${next}")
    foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(links "${next}" ${property})
      if(links)
        list(APPEND todo ${links})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_ITEM found penstock_linker)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(penstock_install)
  _penstock_closure(libraries penstock_client)
  foreach(library IN LISTS libraries)
    string(REGEX REPLACE "^penstock_" "" name "${library}")
    set_target_properties(${library} PROPERTIES EXPORT_NAME "${name}")
    get_target_property(sets ${library} HEADER_SETS)
    get_target_property(more ${library} INTERFACE_HEADER_SETS)
    set(headers)
    if(sets OR more)
      set(headers FILE_SET HEADERS DESTINATION
                  "${CMAKE_INSTALL_INCLUDEDIR}/penstock")
    endif()
    install(TARGETS ${library} EXPORT PenstockTargets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/penstock" ${headers}
            INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/penstock")
  endforeach()
  install(DIRECTORY "${PROJECT_BINARY_DIR}/proto/proto"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/penstock"
          FILES_MATCHING PATTERN "*.pb.h")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/penstock"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/penstock/proto/proto"
          FILES_MATCHING PATTERN "*.proto")

  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Penstock")
  install(EXPORT PenstockTargets NAMESPACE Penstock:: DESTINATION "${package}")
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/.cmake/PenstockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/PenstockConfig.cmake"
    INSTALL_DESTINATION "${package}")
  write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/PenstockConfig.cmake"
                "${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake"
          DESTINATION "${package}")

  install(TARGETS penstock penstock-worker
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  foreach(unit IN ITEMS penstock-worker.service penstock-controller@.service)
    # When it is installed, for `--prefix` may say where only then.
    install(CODE "
      set(bin \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
      configure_file(\"${PROJECT_SOURCE_DIR}/deploy/systemd/${unit}\"
                     \"${PROJECT_BINARY_DIR}/systemd/${unit}\" @ONLY)")
    install(FILES "${PROJECT_BINARY_DIR}/systemd/${unit}"
            DESTINATION lib/systemd/system)
  endforeach()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/docs"
                    "${PROJECT_SOURCE_DIR}/deploy/examples"
          DESTINATION "${CMAKE_INSTALL_DOCDIR}"
          PATTERN "__pycache__" EXCLUDE)
  install(FILES "${PROJECT_SOURCE_DIR}/README.md"
          DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endfunction()
