# Whether there is a CUDA compiler, and how kernels are compiled.

set(PACKHOUSE_CUDA AUTO CACHE STRING
    "Build the CUDA kernels: ON, OFF, or AUTO where nvcc 12.1 or later is found")
set_property(CACHE PACKHOUSE_CUDA PROPERTY STRINGS AUTO ON OFF)

set(PACKHOUSE_HAS_CUDA OFF)
if(NOT PACKHOUSE_CUDA STREQUAL OFF)
  # The last places are those of scripts/install-deps --cuda.
  file(GLOB fetched_compilers
       "$ENV{XDG_CACHE_HOME}/packhouse/cuda-13.0/lib/python3*/site-packages/nvidia/cu13/bin"
       "$ENV{HOME}/.cache/packhouse/cuda-13.0/lib/python3*/site-packages/nvidia/cu13/bin")
  find_program(PACKHOUSE_NVCC nvcc
               HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin ${fetched_compilers})
  if(PACKHOUSE_NVCC)
    # sm_80 and sm_90 and sm_100 as they are; the code of compute_100 is for what
    # comes later.
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
    endif()
    set(CMAKE_CUDA_COMPILER ${PACKHOUSE_NVCC})
    enable_language(CUDA)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
      set(PACKHOUSE_HAS_CUDA ON)
    endif()
  endif()
  if(PACKHOUSE_CUDA STREQUAL ON AND NOT PACKHOUSE_HAS_CUDA)
    message(FATAL_ERROR "PACKHOUSE_CUDA is ON, and there is no nvcc of version 12.1 or later "
                        "(scripts/install-deps --cuda fetches one)")
  endif()
endif()
message(STATUS "CUDA kernels: ${PACKHOUSE_HAS_CUDA}")

# Warnings are errors, and so is what a kernel cannot keep in registers.
function(packhouse_cuda_options target)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xptxas=-warn-spills;-Xptxas=-Werror;-Xcompiler=-Wall,-Wextra;-fmad=false>")
endfunction()
