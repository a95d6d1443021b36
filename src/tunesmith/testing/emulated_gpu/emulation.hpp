// What the emulated driver (driver.cpp) is made of: its state, its memory, and launches.
#pragma once
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
struct Launch { unsigned grid[3], block[3]; unsigned shared_bytes; char* shared; };
struct Kernel { int (*run)(const Launch*, void**); int parameters; const int* bytes; };
}

namespace {
enum Result {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, DEVICE_UNAVAILABLE = 46, NO_DEVICE = 100,
  INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY = 209,
  NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, MISALIGNED = 716, LAUNCH_FAILED = 719,
  NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, UNKNOWN = 999
};
const std::map<int, std::pair<const char*, const char*>> NAMES = {
  {0, {"CUDA_SUCCESS", "no error"}},
  {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
  {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
  {3, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
  {46, {"CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"}},
  {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
  {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
  {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
  {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
  {209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
  {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
  {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
  {716, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
  {719, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
  {801, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
  {900, {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
  {999, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

const unsigned STATIC_SHARED = 48 << 10, MOST_SHARED = 227 << 10;
const size_t PAGE = 4096, UNIT = 256;

struct Function { const Kernel* kernel; unsigned most_shared; };
struct Module { void* library; int file; std::map<std::string, Function*> functions; };
struct Node { const Kernel* kernel; Launch launch; std::vector<std::vector<char>> given; };
struct Graph { std::vector<Node> nodes; };
struct Stream { Graph* captured = nullptr; };
struct Event { double seconds = 0; };
struct Piece { char* base; size_t mapped, bytes; };

std::map<uint64_t, Piece> memory;
size_t used = 0;
int initialized_in = 0;  // the process: it does not survive a fork, as in NVIDIA's driver
Result stuck = SUCCESS, pending = SUCCESS;
bool capturing = false;
const char* fault = "";
Stream default_stream;

long setting(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? std::strtol(value, nullptr, 10) : otherwise;
}
bool gone() {
  const char* file = std::getenv("TUNESMITH_EMULATED_GONE");
  return file && access(file, F_OK) == 0;
}
int devices() { return gone() ? 0 : setting("TUNESMITH_EMULATED_GPUS", 1); }
size_t capacity() { return setting("TUNESMITH_EMULATED_MEMORY", 4l << 30); }
int arch() { return setting("TUNESMITH_EMULATED_ARCH", 90); }
double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
Result state() {
  if (initialized_in != getpid()) return NOT_INITIALIZED;
  if (stuck == SUCCESS && gone()) stuck = UNKNOWN;
  return stuck;
}
// What waits for the GPU hears of errors, and must not be called while a graph is recorded.
Result waited() {
  if (capturing) return CAPTURE_UNSUPPORTED;
  if (stuck == SUCCESS) stuck = pending;
  return state();
}
#define CHECK if (Result error = state()) return error;
#define WAIT if (Result error = waited()) return error;

char* guarded(size_t bytes, size_t unit, Piece* piece) {
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  void* base = mmap(nullptr, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  mprotect(static_cast<char*>(base) + whole, PAGE, PROT_NONE);
  *piece = {static_cast<char*>(base), whole + PAGE, bytes};
  return piece->base + (whole - (bytes + unit - 1) / unit * unit);
}

sigjmp_buf before_the_launch;
void leave(int signal, siginfo_t* info, void*) {
  // Without an address it is an instruction that wants its operand aligned.
  bool aligned = signal != SIGBUS && !(signal == SIGSEGV && info->si_code == SI_KERNEL);
  siglongjmp(before_the_launch, signal == SIGILL ? LAUNCH_FAILED : aligned ? ILLEGAL_ADDRESS : MISALIGNED);
}

Result run(const Kernel* kernel, Launch launch, void** given) {
  if (pending != SUCCESS) return SUCCESS;  // after an error nothing runs any more
  Piece shared = {nullptr, 0, 0};
  launch.shared = launch.shared_bytes ? guarded(launch.shared_bytes, PAGE, &shared) : nullptr;
  struct sigaction ours = {}, segv, bus, ill;
  ours.sa_sigaction = leave;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &ours, &segv);
  sigaction(SIGBUS, &ours, &bus);
  sigaction(SIGILL, &ours, &ill);
  fault = "";
  if (int error = sigsetjmp(before_the_launch, 1)) {
    pending = Result(error);
    fault = error == LAUNCH_FAILED
      ? "an instruction that is not carried out like that"
      : "an access outside of memory, or one that is not aligned";
  } else if (!kernel->run(&launch, given)) {
    pending = LAUNCH_FAILED;
    fault = "threads of a block do not come to the same barrier";
  }
  sigaction(SIGSEGV, &segv, nullptr);
  sigaction(SIGBUS, &bus, nullptr);
  sigaction(SIGILL, &ill, nullptr);
  if (shared.base) munmap(shared.base, shared.mapped);
  return SUCCESS;
}

Stream* of(void* stream) { return stream ? static_cast<Stream*>(stream) : &default_stream; }

Result launch(const Kernel* kernel, unsigned most, const Launch& launch, void* stream, void** given) {
  CHECK
  unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads == 0 || threads > 1024 || launch.block[2] > 64 || launch.shared_bytes > most)
    return INVALID_VALUE;
  if (launch.grid[1] > 65535 || launch.grid[2] > 65535 || !launch.grid[0]) return INVALID_VALUE;
  if (Graph* graph = of(stream)->captured) {
    Node node = {kernel, launch, {}};
    for (int i = 0; i < kernel->parameters; ++i) {
      char* from = static_cast<char*>(given[i]);
      node.given.emplace_back(from, from + kernel->bytes[i]);
    }
    graph->nodes.push_back(node);
    return SUCCESS;
  }
  return run(kernel, launch, given);
}
}  // namespace
