# cmake --install: headers, library, CMake package (tailor::tailor, tailor::torch) and pkg-config files (tailor, tailor-torch).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tailor tailor_torch EXPORT tailorTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tailor_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)  # libtailor.so opens it
install(TARGETS tailor_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(tailor_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY frontend/include/tailor DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY frontend/include/compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tailor/compat FILES_MATCHING PATTERN "*.h")
# The headers of runtime/ that public headers stand on: standard library only.
install(FILES runtime/ambient.h runtime/cell.h runtime/device.h runtime/dims.h runtime/dtype.h runtime/error.h runtime/intrusive.h runtime/log.h runtime/philox.h runtime/scalar.h
              runtime/thread_pool.h runtime/trace.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tailor/detail/runtime)
install(EXPORT tailorTargets NAMESPACE tailor:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tailor)
configure_package_config_file(tools/cmake/tailorConfig.cmake.in ${CMAKE_BINARY_DIR}/tailorConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tailor)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tailorConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tailorConfig.cmake ${CMAKE_BINARY_DIR}/tailorConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tailor)

# Prefixes are named relative to the file itself: `cmake --install --prefix` and moving an installed tree leave it right.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" PC_PREFIX "\${pcfiledir}/${PC_PREFIX}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  set(PC_${folder} \${prefix}/${CMAKE_INSTALL_${folder}})
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})
    set(PC_${folder} ${CMAKE_INSTALL_${folder}})
  endif()
endforeach()

function(tailor_pkg_config name description extra)
  set(PC_NAME ${name})
  set(PC_DESCRIPTION ${description})
  set(PC_EXTRA_CFLAGS ${extra})
  configure_file(tools/cmake/tailor.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
tailor_pkg_config(tailor "torch.compile for C++ programs" "")
tailor_pkg_config(tailor-torch "Tailor under libtorch's header names" " -isystem \${includedir}/tailor/compat")
