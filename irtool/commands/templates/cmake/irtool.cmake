# irtool_add_network(NAME MODEL [OPTIONS option ...] [DEPENDS file ...])
#
# A static library NAME of a network, compiled from the C that `irtool build` writes for MODEL, with NAME.h in its include folders. irtool runs
# again when the model, or another file that it has read, is newer. OPTIONS are those of `irtool build`, which runs in the current
# binary folder: --params=${CMAKE_CURRENT_SOURCE_DIR}/weights.npz. With --weights=file, the file is ${NAME_WEIGHTS}.
#
# CMake 3.20 or later; IRTOOL_EXECUTABLE is the program.

find_program(IRTOOL_EXECUTABLE irtool REQUIRED)

function(irtool_add_network name model)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "irtool_add_network(${name}): ${arg_UNPARSED_ARGUMENTS} is neither behind OPTIONS nor DEPENDS")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.irtool")
  get_filename_component(model "${model}" ABSOLUTE)
  set(sources "${folder}/${name}.c" "${folder}/${name}.h")
  add_custom_command(
    OUTPUT ${sources}
    COMMAND "${IRTOOL_EXECUTABLE}" build --quiet --emit=c --weights=inline --name=${name} -MD -o "${folder}/" ${arg_OPTIONS} "${model}"
    DEPENDS "${model}" ${arg_DEPENDS}
    DEPFILE "${folder}/${name}.d"
    COMMENT "Compiling the network ${name}"
    VERBATIM)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC "${folder}")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${name} PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast)
  endif()
  if(NOT MSVC)
    target_link_libraries(${name} PUBLIC m)
  endif()
  set(${name}_WEIGHTS "${folder}/${name}.bin" PARENT_SCOPE)
endfunction()
