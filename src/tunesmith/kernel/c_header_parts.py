"""The parts of a kernel's C header that differ between CPUs and GPUs, as templates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """The device-dependent parts of a header.

    ``about`` is the comment at its start, ``runtime`` the declarations of TVM's functions,
    ``device`` the enumerators of the device, ``loading`` the function that loads the library.
    ``call_parameters`` and ``call`` are the parameters and the end of the function that makes a
    call. ``parameters`` precede the arrays of every function, ``given`` passes them on, and
    ``place`` is an array's device.
    """

    about: str
    runtime: str
    device: str
    loading: str
    call_parameters: str
    call: str
    parameters: str
    given: str
    place: str


FOR_CPU = Parts(
    about="""\
 * All tensors are dense and in C order, and may start anywhere; a cache line (64 bytes) is read
 * fastest from its start. What a function fills must not overlap what it reads. It returns 0, or -1
 * if the call failed; then nothing is known of what it fills. Call from one thread at a time.
 * It needs a processor like $processor, and runs on as many threads as the environment variable
 * TVM_NUM_THREADS says (half of the processors if it is unset). All kernels have the same symbols:
 * link one to a program.
$sequence *
 * Link with the shared library beside this header, libtvm_runtime and libtvm_ffi. With TVM and FFI
 * set to where these two are, which is lib in the folders of the Python packages tvm and tvm_ffi:
 *
 *   cc program.c $library -L"$$TVM" -L"$$FFI" -ltvm_runtime -ltvm_ffi -Wl,-rpath-link,"$$FFI"
 *   LD_LIBRARY_PATH=.:$$TVM:$$FFI ./a.out""",
    runtime="""\
/* What the library calls at run time; the runtime provides it. */
extern int TVMBackendParallelLaunch(void*, void*, int);
extern void* TVMBackendAllocWorkspace(int, int, uint64_t, int, int);
extern int TVMBackendFreeWorkspace(int, int, void*);
extern void* __TVMBackendParallelLaunch __attribute__((weak));
extern void* __TVMBackendAllocWorkspace __attribute__((weak));
extern void* __TVMBackendFreeWorkspace __attribute__((weak));""",
    device="CPU = 1",
    loading="",
    call_parameters="${name}_function* function, ${name}_tensor* tensors, int count",
    call="""\
  if (&__TVMBackendParallelLaunch) __TVMBackendParallelLaunch = (void*)TVMBackendParallelLaunch;
  if (&__TVMBackendAllocWorkspace) __TVMBackendAllocWorkspace = (void*)TVMBackendAllocWorkspace;
  if (&__TVMBackendFreeWorkspace) __TVMBackendFreeWorkspace = (void*)TVMBackendFreeWorkspace;
  return function(NULL, arguments, count, &result) ? -1 : 0;""",
    parameters="",
    given="",
    place="${prefix}_CPU, 0",
)
FOR_GPU = Parts(
    about="""\
 * It runs on an NVIDIA GPU like $arch. Call ${name}_load once, with the path of the library, before
 * anything else. All tensors are dense, in C order, and in the memory of one GPU, whose number is
 * the first argument of each function; they start at multiples of $alignment bytes, as what
 * cudaMalloc gives does. What a function fills must not overlap what it reads. stream is the
 * cudaStream_t to run on, NULL for the default one; a function returns before the GPU has ended. It
 * returns 0, or -1 if the call failed; then nothing is known of what it fills. Call from one thread
 * at a time; it makes that GPU the thread's current one. All kernels have the same symbols: link
 * one to a program.
$sequence *
 * Link with the shared library beside this header, TVM's runtime and CUDA's. With TVM and FFI set
 * to lib in the folders of the Python packages tvm and tvm_ffi, and CUDA to where libcudart.so.13
 * is:
 *
 *   cc program.c $library -L"$$TVM" -L"$$FFI" -L"$$CUDA" -Wl,--no-as-needed -ltvm_runtime_cuda \\
 *     -ltvm_runtime -ltvm_ffi -l:libcudart.so.13 -Wl,-rpath-link,"$$FFI:$$CUDA"
 *   LD_LIBRARY_PATH=.:$$TVM:$$FFI:$$CUDA ./a.out""",
    runtime="""\
/* What loads the library's machine code, and says on which stream it runs. */
typedef struct { const char* data; size_t size; } ${name}_text;
extern int TVMFFIFunctionGetGlobal(const ${name}_text*, void**);
extern int TVMFFIFunctionCall(void*, ${name}_any*, int32_t, ${name}_any*);
extern int TVMFFIEnvSetStream(int32_t, int32_t, void*, void**);""",
    device="CUDA = 2, ${name}_PATH = 8",
    loading="""\
/* The library stays loaded as long as the program runs. */
static inline int ${name}_load(const char* library) {
  ${name}_text name = {"ffi.ModuleLoadFromFile", sizeof("ffi.ModuleLoadFromFile") - 1};
  ${name}_any path = {${name}_PATH, 0, (void*)library}, module = {0, 0, NULL};
  void* load = NULL;
  if (TVMFFIFunctionGetGlobal(&name, &load) || !load) return -1;
  return TVMFFIFunctionCall(load, &path, 1, &module) ? -1 : 0;
}

""",
    call_parameters=(
        "int gpu, void* stream, ${name}_function* function, ${name}_tensor* tensors,\n    int count"
    ),
    call="""\
  void* before = NULL;
  if (TVMFFIEnvSetStream(${name}_CUDA, gpu, stream, &before)) return -1;
  int failed = function(NULL, arguments, count, &result);
  TVMFFIEnvSetStream(${name}_CUDA, gpu, before, NULL);
  return failed ? -1 : 0;""",
    parameters="int gpu, void* stream, ",
    given="gpu, stream, ",
    place="${prefix}_CUDA, gpu",
)
