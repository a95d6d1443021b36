// A CUDA driver (libcuda.so.1) without a GPU: functions run at once, on the CPU, as device.hpp says.
//
// Memory of the device is memory of the process, with an unreadable page behind each piece, so that
// an access far outside is an illegal address here, too. As on a GPU, that error stays: nothing
// more can be done in this process. Environment variables say what the GPU is like:
//   TUNESMITH_EMULATED_GPUS    how many there are (one)
//   TUNESMITH_EMULATED_ARCH    compute capability, such as 90
//   TUNESMITH_EMULATED_MEMORY  bytes of memory
//   TUNESMITH_EMULATED_GONE    a file: as long as it exists all GPUs have vanished
//   TUNESMITH_EMULATED_BUSY    the index of a GPU that others have for themselves
//   TUNESMITH_EMULATED_DRIVER  the driver's version, such as 13000
#include "emulation.hpp"

extern "C" {
// What was wrong with the last launch, in words; for tests in the same process.
const char* tunesmith_fault() { return fault; }
// A new process, so to speak: what stayed of an error is forgotten.
void tunesmith_reset() { stuck = pending = SUCCESS; fault = ""; }

int cuInit(unsigned) {
  if (initialized_in && initialized_in != getpid()) return NOT_INITIALIZED;
  if (devices() < 1) return NO_DEVICE;
  initialized_in = getpid();
  return state();
}
int cuDriverGetVersion(int* version) {
  *version = setting("TUNESMITH_EMULATED_DRIVER", 13000);
  return SUCCESS;
}
int cuDeviceGetCount(int* count) { CHECK *count = devices(); return SUCCESS; }
int cuDeviceGet(int* device, int ordinal) {
  CHECK
  if (ordinal < 0 || ordinal >= devices()) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, length, "Emulated GPU");
  return SUCCESS;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, length, "0000:%02x:00.0", device + 1);
  return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { *bytes = capacity(); return SUCCESS; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= devices()) return INVALID_DEVICE;
  switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;   // threads of a block; along x and y
    case 4: *value = 64; break;                     // along z
    case 5: *value = 2147483647; break;             // blocks along x
    case 6: case 7: *value = 65535; break;          // along y and z
    case 8: *value = STATIC_SHARED; break;          // shared memory of a block
    case 10: *value = 32; break;                    // threads of a warp
    case 12: *value = 65536; break;                 // registers of a block
    case 13: *value = 1000000; break;               // clock in kHz
    case 16: *value = 2; break;                     // multiprocessors
    case 38: *value = 1 << 20; break;               // bytes of L2 cache
    case 75: *value = arch() / 10; break;           // compute capability, major
    case 76: *value = arch() % 10; break;           // and minor
    case 81: *value = 228 << 10; break;             // shared memory of a multiprocessor
    case 97: *value = MOST_SHARED; break;           // shared memory of a block that asks for it
    default: *value = 0;
  }
  return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  CHECK
  if (device == setting("TUNESMITH_EMULATED_BUSY", -1)) return DEVICE_UNAVAILABLE;
  *context = reinterpret_cast<void*>(long(device + 1));
  return SUCCESS;
}
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxSetCurrent(void*) { return state(); }
int cuCtxSynchronize() { return waited(); }
int cuGetErrorName(int code, const char** text) {
  auto found = NAMES.find(code);
  *text = found == NAMES.end() ? "CUDA_ERROR_UNKNOWN" : found->second.first;
  return SUCCESS;
}
int cuGetErrorString(int code, const char** text) {
  auto found = NAMES.find(code);
  *text = found == NAMES.end() ? "unknown error" : found->second.second;
  return SUCCESS;
}

int cuMemGetInfo_v2(size_t* left, size_t* whole) {
  WAIT
  *whole = capacity();
  *left = capacity() - used;
  return SUCCESS;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  WAIT
  if (bytes == 0) return INVALID_VALUE;
  if (used + bytes > capacity()) return OUT_OF_MEMORY;
  Piece piece;
  char* start = guarded(bytes, UNIT, &piece);
  if (!start) return OUT_OF_MEMORY;
  *address = reinterpret_cast<uint64_t>(start);
  memory[*address] = piece;
  used += bytes;
  return SUCCESS;
}
int cuMemFree_v2(uint64_t address) {
  auto found = memory.find(address);
  if (found == memory.end()) return address ? INVALID_VALUE : SUCCESS;
  used -= found->second.bytes;
  munmap(found->second.base, found->second.mapped);
  memory.erase(found);
  return state();
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  WAIT
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return SUCCESS;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  WAIT
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return SUCCESS;
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  WAIT
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return SUCCESS;
}
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  CHECK
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return SUCCESS;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void*) {
  return cuMemsetD8_v2(to, value, bytes);
}

int cuModuleLoadData(void** module, const void* image) {
  WAIT
  // As nvcc.py writes it: a line with the compute capability and the size, then a library.
  int capability = 0, start = 0;
  size_t bytes = 0;
  const char* text = static_cast<const char*>(image);
  if (std::sscanf(text, "TUNESMITH EMULATED %d %zu%n", &capability, &bytes, &start) != 2)
    return INVALID_IMAGE;
  if (capability / 10 != arch() / 10 || capability > arch()) return NO_BINARY;
  int file = memfd_create("cubin", 0);
  const char* from = text + start + 1;
  for (size_t done = 0; done < bytes;) {
    ssize_t written = write(file, from + done, bytes - done);
    if (written <= 0) return OUT_OF_MEMORY;
    done += written;
  }
  std::string path = "/proc/self/fd/" + std::to_string(file);
  // One that could not be unloaded, for a symbol of it is unique, would be taken for this one.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) return UNKNOWN;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return INVALID_IMAGE;
  // The file stays open, for another one of its number would be taken for this library.
  *module = new Module{library, file, {}};
  return SUCCESS;
}
int cuModuleUnload(void* module) {
  Module* loaded = static_cast<Module*>(module);
  dlclose(loaded->library);
  close(loaded->file);
  for (auto& function : loaded->functions) delete function.second;
  delete loaded;
  return state();
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  CHECK
  Module* loaded = static_cast<Module*>(module);
  Function*& found = loaded->functions[name];
  if (!found) {
    void* kernel = dlsym(loaded->library, (std::string("kernel_") + name).c_str());
    if (!kernel) return NOT_FOUND;
    found = new Function{static_cast<const Kernel*>(kernel), STATIC_SHARED};
  }
  *function = found;
  return SUCCESS;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  CHECK
  if (attribute == 8) {
    if (value > int(MOST_SHARED)) return INVALID_VALUE;
    static_cast<Function*>(function)->most_shared = value > int(STATIC_SHARED) ? value : STATIC_SHARED;
  }
  return SUCCESS;
}
int cuLaunchKernel(
    void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** given, void**) {
  Function* called = static_cast<Function*>(function);
  return launch(called->kernel, called->most_shared, {{gx, gy, gz}, {bx, by, bz}, shared, nullptr}, stream, given);
}
struct LaunchConfig { unsigned grid[3], block[3], shared; void* stream; void* attributes; unsigned count; };
int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** given, void** extra) {
  const unsigned *g = config->grid, *b = config->block;
  return cuLaunchKernel(function, g[0], g[1], g[2], b[0], b[1], b[2], config->shared, config->stream, given, extra);
}
int cuTensorMapEncodeTiled() { return NOT_SUPPORTED; }

int cuStreamCreate(void** stream, unsigned) { CHECK *stream = new Stream; return SUCCESS; }
int cuStreamDestroy_v2(void* stream) { delete static_cast<Stream*>(stream); return state(); }
int cuStreamSynchronize(void*) { return waited(); }
int cuStreamWaitEvent(void*, void*, unsigned) { return state(); }
int cuStreamBeginCapture_v2(void* stream, int) {
  CHECK
  of(stream)->captured = new Graph;
  capturing = true;
  return SUCCESS;
}
int cuStreamEndCapture(void* stream, void** graph) {
  CHECK
  *graph = of(stream)->captured;
  of(stream)->captured = nullptr;
  capturing = false;
  return SUCCESS;
}
int cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long) {
  CHECK
  *ready = new Graph(*static_cast<Graph*>(graph));
  return SUCCESS;
}
int cuGraphLaunch(void* graph, void*) {
  CHECK
  for (Node& node : static_cast<Graph*>(graph)->nodes) {
    std::vector<void*> given;
    for (auto& value : node.given) given.push_back(value.data());
    if (Result error = run(node.kernel, node.launch, given.data())) return error;
  }
  return SUCCESS;
}
int cuGraphExecDestroy(void* graph) { delete static_cast<Graph*>(graph); return state(); }
int cuGraphDestroy(void* graph) { delete static_cast<Graph*>(graph); return state(); }

int cuEventCreate(void** event, unsigned) { CHECK *event = new Event; return SUCCESS; }
int cuEventDestroy_v2(void* event) { delete static_cast<Event*>(event); return state(); }
int cuEventRecord(void* event, void*) { CHECK static_cast<Event*>(event)->seconds = now(); return SUCCESS; }
int cuEventSynchronize(void*) { return waited(); }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  CHECK
  *milliseconds = 1e3 * (static_cast<Event*>(end)->seconds - static_cast<Event*>(start)->seconds);
  return SUCCESS;
}
}
