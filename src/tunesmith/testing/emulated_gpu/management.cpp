// The part of NVIDIA's management library (libnvidia-ml.so.1) that tells clocks and temperature.
#include <cstdlib>
#include <cstring>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = const_cast<char*>(id);
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1000 : 2000;  // of the multiprocessors, of the memory
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) { *degrees = 41; return 0; }
}
