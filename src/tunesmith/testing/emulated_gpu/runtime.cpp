// The part of CUDA's runtime (libcudart.so.13) that TVM calls, on top of the emulated driver.
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
int cuInit(unsigned);
int cuDeviceGetCount(int*);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceGetName(char*, int, int);
int cuGetErrorName(int, const char**);
int cuGetErrorString(int, const char**);
int cuMemAlloc_v2(uint64_t*, size_t);
int cuMemFree_v2(uint64_t);
int cuMemGetInfo_v2(size_t*, size_t*);
int cuCtxSynchronize();
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphLaunch(void*, void*);
int cuGraphExecDestroy(void*);
int cuGraphDestroy(void*);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventElapsedTime(float*, void*, void*);

static int device = 0, last = 0;
static int said(int code) { if (code) last = code; return code; }
// The runtime initialises itself, at the first call.
static int begun() { return said(cuInit(0)); }

const char* cudaGetErrorName(int code) { const char* text; cuGetErrorName(code, &text); return text; }
const char* cudaGetErrorString(int code) { const char* text; cuGetErrorString(code, &text); return text; }
int cudaGetLastError() { int code = last; last = 0; return code; }
int cudaPeekAtLastError() { return last; }
int cudaGetDeviceCount(int* count) { int code = begun(); return code ? code : cuDeviceGetCount(count); }
int cudaGetDevice(int* current) { *current = device; return 0; }
int cudaSetDevice(int chosen) { device = chosen; return begun(); }
int cudaDeviceGetAttribute(int* value, int attribute, int of) {
  int code = begun();
  return code ? code : cuDeviceGetAttribute(value, attribute, of);
}
int cudaGetDeviceProperties(char* properties, int of) { return cuDeviceGetName(properties, 256, of); }
int cudaMalloc(uint64_t* address, size_t bytes) { begun(); return said(cuMemAlloc_v2(address, bytes)); }
int cudaFree(uint64_t address) { return said(cuMemFree_v2(address)); }
int cudaMallocHost(void** address, size_t bytes) { *address = std::malloc(bytes); return *address ? 0 : 2; }
int cudaFreeHost(void* address) { std::free(address); return 0; }
int cudaMemGetInfo(size_t* left, size_t* whole) { begun(); return said(cuMemGetInfo_v2(left, whole)); }
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  if (int code = cuCtxSynchronize()) return said(code);
  std::memmove(to, from, bytes);
  return 0;
}
int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, void*) {
  return cudaMemcpyAsync(to, from, bytes, 0, nullptr);
}
int cudaStreamCreate(void** stream) { begun(); return said(cuStreamCreate(stream, 0)); }
int cudaStreamCreateWithFlags(void** stream, unsigned flags) { begun(); return said(cuStreamCreate(stream, flags)); }
int cudaStreamDestroy(void* stream) { return said(cuStreamDestroy_v2(stream)); }
int cudaStreamSynchronize(void*) { return said(cuCtxSynchronize()); }
int cudaStreamWaitEvent(void*, void*, unsigned) { return said(cuCtxSynchronize()); }
int cudaStreamBeginCapture(void* stream, int mode) { return said(cuStreamBeginCapture_v2(stream, mode)); }
int cudaStreamEndCapture(void* stream, void** graph) { return said(cuStreamEndCapture(stream, graph)); }
int cudaGraphInstantiate(void** ready, void* graph, unsigned long long flags) {
  return said(cuGraphInstantiateWithFlags(ready, graph, flags));
}
int cudaGraphLaunch(void* graph, void* stream) { return said(cuGraphLaunch(graph, stream)); }
int cudaGraphExecDestroy(void* graph) { return said(cuGraphExecDestroy(graph)); }
int cudaGraphDestroy(void* graph) { return said(cuGraphDestroy(graph)); }
int cudaEventCreate(void** event) { begun(); return said(cuEventCreate(event, 0)); }
int cudaEventDestroy(void* event) { return said(cuEventDestroy_v2(event)); }
int cudaEventRecord(void* event, void* stream) { return said(cuEventRecord(event, stream)); }
int cudaEventSynchronize(void*) { return said(cuCtxSynchronize()); }
int cudaEventElapsedTime(float* milliseconds, void* start, void* end) {
  return said(cuEventElapsedTime(milliseconds, start, end));
}
}
