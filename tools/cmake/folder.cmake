# One target per folder of the source tree. A folder sees its own headers and those of the folders it names, and no others:
# the include path of a target holds links to just these folders, so that a wrong-way include does not build.

add_library(tailor_options INTERFACE)
# clang reports libstdc++ 12's own use of get_temporary_buffer, wherever std::stable_sort is used; g++ keeps that warning.
target_compile_options(tailor_options INTERFACE
  -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math -ftls-model=initial-exec
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-psabi;-Wno-init-list-lifetime>"
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unused-lambda-capture -Wno-psabi -Wno-deprecated-declarations>)
if(TAILOR_SANITIZE)
  # -O1: instrumented code takes several times as long to compile at higher levels, and finds nothing more.
  target_compile_options(tailor_options INTERFACE -fsanitize=${TAILOR_SANITIZE} -fno-omit-frame-pointer -g1 -O1)
  target_link_options(tailor_options INTERFACE -fsanitize=${TAILOR_SANITIZE})
  # g++ says of itself that instrumented code gives false warnings of this kind; other builds keep the warning.
  target_compile_options(tailor_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# The include path <build>/include/<folder>/<folder> -> <source>/<folder>
function(tailor_include_root folder)
  set(root ${CMAKE_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
endfunction()

# tailor_folder(<name> DEPENDS <folders...> [LINK <libraries...>]): an object library of every .cpp below the folder.
function(tailor_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(sources)
    add_library(tailor_${name} OBJECT ${sources})
  else()
    file(WRITE ${CMAKE_BINARY_DIR}/empty_${name}.cpp "")
    add_library(tailor_${name} OBJECT ${CMAKE_BINARY_DIR}/empty_${name}.cpp)
  endif()
  tailor_include_root(${name})
  target_include_directories(tailor_${name} PUBLIC ${CMAKE_BINARY_DIR}/include/${name})
  target_link_libraries(tailor_${name} PUBLIC tailor_options ${ARG_LINK})
  foreach(dependency ${ARG_DEPENDS})
    target_include_directories(tailor_${name} PUBLIC ${CMAKE_BINARY_DIR}/include/${dependency})
  endforeach()
endfunction()
