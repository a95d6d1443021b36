/* Networks that 'tunesmith network build' wrote, called from C and C++.
 *
 *   TunesmithNetwork* network = tunesmith_network_load("net.so");
 *   const TunesmithEntry* entry = tunesmith_network_entry(network, 1);
 *   DLTensor input = tunesmith_tensor(&entry->inputs[0], data);
 *   DLTensor output = tunesmith_tensor(&entry->outputs[0], result);
 *   if (tunesmith_network_run(network, &input, 1, &output, 1)) {
 *     puts(tunesmith_network_error(network));
 *   }
 *   tunesmith_network_free(network);
 *
 * Programs need TVM's libraries libtvm_runtime.so and libtvm_ffi.so, and networks that sort
 * libtvm_runtime_extra.so, too; 'tunesmith network example' writes a folder with all of them. Nothing here prints or ends the process. A network is
 * used by one thread at a time; several networks may run at once in threads of their own. The
 * header needs C11 or C++11 on Linux, with POSIX's functions: -std=gnu11, or -D_GNU_SOURCE.
 */
#ifndef TUNESMITH_NETWORK_H
#define TUNESMITH_NETWORK_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tunesmith/instructions.h>
#include <tunesmith/network_description.h>
#include <tvm/ffi/c_api.h>
#include <unistd.h>

#if defined(__STRICT_ANSI__) && !defined(_GNU_SOURCE) && !defined(_POSIX_C_SOURCE) && \
    !defined(_DEFAULT_SOURCE)
#error "tunesmith/network.h needs POSIX's functions: compile with -std=gnu11, or -D_GNU_SOURCE"
#endif

#ifdef __cplusplus
#define TUNESMITH_THREAD_LOCAL thread_local
extern "C" {
#else
#define TUNESMITH_THREAD_LOCAL _Thread_local
#endif

enum {
  TUNESMITH_FORMAT = 3,    /* of libraries that this header reads */
  TUNESMITH_ALIGNMENT = 64 /* of buffers that are used without being copied, in bytes */
};

/* A loaded network. Its members are for the functions below. */
typedef struct {
  const TunesmithDescription* description;
  char error[512];
  void* library;
  TVMFFIAny module, machine;
  TVMFFIAny* functions; /* of all entries */
  TVMFFIAny* weights;
  TVMFFIAny* buffers; /* of all entries, one entry after the other */
  DLManagedTensor* weight_memory;
  DLManagedTensor* buffer_memory;
  void* memory;         /* where the buffers are */
  TVMFFIAny* arguments; /* of a call: at most so many as any entry has */
  DLManagedTensor* input_memory;
  void** copies; /* of inputs that are not aligned, or where a result is stored */
  int32_t most_inputs;
  int32_t loaded;
} TunesmithNetwork;

/* Why the last call failed; NULL if it did not. */
static inline const char* tunesmith_network_error(const TunesmithNetwork* network) {
  if (!network) return "out of memory";
  return network->error[0] ? network->error : NULL;
}

static inline int tunesmith_fail_(TunesmithNetwork* network, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(network->error, sizeof(network->error), format, arguments);
  va_end(arguments);
  return -1;
}

/* Takes the first line of the error that TVM has raised. */
static inline int tunesmith_fail_of_tvm_(TunesmithNetwork* network, const char* what) {
  TVMFFIObjectHandle raised = NULL;
  TVMFFIErrorMoveFromRaised(&raised);
  if (!raised) return tunesmith_fail_(network, "%s fails, and TVM gives no reason", what);
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)((char*)raised + sizeof(TVMFFIObject));
  const char* text = cell->message.data;
  int length = 0;
  while ((size_t)length < cell->message.size && length < 400 && text[length] != '\n') ++length;
  tunesmith_fail_(network, "%s fails: %.*s", what, length, text);
  TVMFFIObjectDecRef(raised);
  return -1;
}

static inline TVMFFIAny tunesmith_any_(int32_t type_index, void* pointer) {
  TVMFFIAny value;
  memset(&value, 0, sizeof(value));
  value.type_index = type_index;
  value.v_ptr = pointer;
  return value;
}

static inline TVMFFIAny tunesmith_text_(const char* text) {
  return tunesmith_any_(kTVMFFIRawStr, (void*)text);
}

static inline TVMFFIAny tunesmith_number_(int64_t number) {
  TVMFFIAny value = tunesmith_any_(kTVMFFIInt, NULL);
  value.v_int64 = number;
  return value;
}

static inline void tunesmith_release_(TVMFFIAny* value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value->v_obj);
  *value = tunesmith_any_(kTVMFFINone, NULL);
}

/* Calls one of TVM's global functions. */
static inline int tunesmith_call_(TunesmithNetwork* network, const char* name,
                                  TVMFFIAny* arguments, int32_t count, TVMFFIAny* result) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&key, &function)) return tunesmith_fail_of_tvm_(network, name);
  if (!function) {
    return tunesmith_fail_(network, "TVM lacks the function %s: link libtvm_runtime", name);
  }
  const int failed = TVMFFIFunctionCall(function, arguments, count, result);
  TVMFFIObjectDecRef(function);
  return failed ? tunesmith_fail_of_tvm_(network, name) : 0;
}

/* A function of one of TVM's modules. */
static inline int tunesmith_function_(TunesmithNetwork* network, TVMFFIAny module, const char* name,
                                      TVMFFIAny* function) {
  TVMFFIAny given[3] = {module, tunesmith_text_(name), tunesmith_any_(kTVMFFIBool, NULL)};
  if (tunesmith_call_(network, "ffi.ModuleGetFunction", given, 3, function)) return -1;
  if (function->type_index == kTVMFFIFunction) return 0;
  return tunesmith_fail_(network, "the library lacks the function %s: build it again", name);
}

static inline void tunesmith_keep_(DLManagedTensor* tensor) { (void)tensor; }

/* A tensor on memory that stays the caller's. */
static inline DLTensor tunesmith_tensor(const TunesmithTensor* described, void* data) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = described->rank;
  tensor.dtype.code = described->type_code;
  tensor.dtype.bits = described->type_bits;
  tensor.dtype.lanes = 1;
  tensor.shape = (int64_t*)described->shape;
  return tensor;
}

/* TVM's tensor object on a described tensor's memory; memory lives as long as it. */
static inline int tunesmith_object_(TunesmithNetwork* network, const TunesmithTensor* described,
                                    void* data, DLManagedTensor* memory, TVMFFIAny* object) {
  TVMFFIObjectHandle made = NULL;
  memory->dl_tensor = tunesmith_tensor(described, data);
  memory->manager_ctx = NULL;
  memory->deleter = tunesmith_keep_;
  if (TVMFFITensorFromDLPack(memory, 0, 0, &made)) {
    return tunesmith_fail_of_tvm_(network, described->name);
  }
  *object = tunesmith_any_(kTVMFFITensor, made);
  return 0;
}

static inline int tunesmith_check_description_(TunesmithNetwork* network, const char* path) {
  const TunesmithDescription* found = network->description;
  if (found->format != TUNESMITH_FORMAT) {
    return tunesmith_fail_(network,
                           "%s has format %d, this header reads %d: build the network again, or "
                           "take the header of that version",
                           path, (int)found->format, (int)TUNESMITH_FORMAT);
  }
  for (int32_t i = 0; i < found->num_instructions; ++i) {
    if (tunesmith_has_instructions(found->instructions[i])) continue;
    return tunesmith_fail_(network,
                           "%s was compiled for %s and needs %s, which this processor lacks: build "
                           "the network for this processor",
                           path, found->processor, found->instructions[i]);
  }
  return 0;
}

/* How many buffers the first entries have. */
static inline int32_t tunesmith_count_buffers_(const TunesmithDescription* found, int64_t entries) {
  int32_t count = 0;
  for (int64_t i = 0; i < entries; ++i) count += found->entries[i].num_buffers;
  return count;
}

/* Loads the machine, its functions and the weights, which stay where they are in the library. */
static inline int tunesmith_start_(TunesmithNetwork* network, const char* path, char* weights) {
  const TunesmithDescription* found = network->description;
  TVMFFIAny function = tunesmith_any_(kTVMFFINone, NULL), nothing = function;
  TVMFFIAny text = tunesmith_text_(path);
  if (tunesmith_call_(network, "ffi.ModuleLoadFromFile", &text, 1, &network->module)) return -1;
  if (tunesmith_function_(network, network->module, "vm_load_executable", &function)) return -1;
  int failed = TVMFFIFunctionCall(function.v_obj, NULL, 0, &network->machine);
  tunesmith_release_(&function);
  if (failed) return tunesmith_fail_of_tvm_(network, "loading");
  if (tunesmith_function_(network, network->machine, "vm_initialization", &function)) return -1;
  const int64_t pooled = 2;
  TVMFFIAny where[3] = {tunesmith_number_(kDLCPU), tunesmith_number_(0), tunesmith_number_(pooled)};
  failed = TVMFFIFunctionCall(function.v_obj, where, 3, &nothing);
  tunesmith_release_(&function);
  if (failed) return tunesmith_fail_of_tvm_(network, "starting");
  for (int32_t i = 0; i < found->num_entries; ++i) {
    const char* name = found->entries[i].function;
    if (tunesmith_function_(network, network->machine, name, &network->functions[i])) return -1;
  }
  for (int32_t i = 0; i < found->num_weights; ++i) {
    if (tunesmith_object_(network, &found->weights[i], weights + found->weight_offsets[i],
                          &network->weight_memory[i], &network->weights[i])) {
      return -1;
    }
  }
  int32_t made = 0;
  for (int32_t i = 0; i < found->num_entries; ++i) {
    const TunesmithEntry* entry = &found->entries[i];
    for (int32_t j = 0; j < entry->num_buffers; ++j, ++made) {
      char* data = (char*)network->memory + entry->buffer_offsets[j];
      if (tunesmith_object_(network, &entry->buffers[j], data, &network->buffer_memory[made],
                            &network->buffers[made])) {
        return -1;
      }
    }
  }
  return 0;
}

static inline void* tunesmith_zeros_(int32_t count, size_t size) {
  return calloc(count > 0 ? (size_t)count : 1, size);
}

static inline int tunesmith_allocate_(TunesmithNetwork* network) {
  const TunesmithDescription* found = network->description;
  int32_t inputs = 0, arguments = 0;
  for (int32_t i = 0; i < found->num_entries; ++i) {
    const TunesmithEntry* entry = &found->entries[i];
    const int32_t all = entry->num_inputs + entry->num_weights + entry->num_buffers;
    if (entry->num_inputs > inputs) inputs = entry->num_inputs;
    if (all > arguments) arguments = all;
  }
  network->most_inputs = inputs;
  network->functions = (TVMFFIAny*)tunesmith_zeros_(found->num_entries, sizeof(TVMFFIAny));
  network->weights = (TVMFFIAny*)tunesmith_zeros_(found->num_weights, sizeof(TVMFFIAny));
  network->weight_memory =
      (DLManagedTensor*)tunesmith_zeros_(found->num_weights, sizeof(DLManagedTensor));
  const int32_t buffers = tunesmith_count_buffers_(found, found->num_entries);
  const size_t bytes = found->buffer_bytes ? (size_t)found->buffer_bytes : 1;
  network->buffers = (TVMFFIAny*)tunesmith_zeros_(buffers, sizeof(TVMFFIAny));
  network->buffer_memory = (DLManagedTensor*)tunesmith_zeros_(buffers, sizeof(DLManagedTensor));
  if (posix_memalign(&network->memory, TUNESMITH_ALIGNMENT, bytes)) network->memory = NULL;
  network->arguments = (TVMFFIAny*)tunesmith_zeros_(arguments, sizeof(TVMFFIAny));
  network->input_memory = (DLManagedTensor*)tunesmith_zeros_(inputs, sizeof(DLManagedTensor));
  network->copies = (void**)tunesmith_zeros_(inputs, sizeof(void*));
  if (network->functions && network->weights && network->weight_memory && network->buffers &&
      network->buffer_memory && network->memory && network->arguments && network->input_memory &&
      network->copies) {
    return 0;
  }
  return tunesmith_fail_(network, "out of memory");
}

/* TVM reads its environment when a thread runs its first kernel. Without this it would use half of
 * the processors, as it takes the others for hyper-threads. */
static inline void tunesmith_allow_all_processors_(int32_t cores) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  char text[24];
  snprintf(text, sizeof(text), "%ld", processors > cores ? processors : (long)cores);
  setenv("TVM_NUM_THREADS", text, 0);
}

/* Loads a network's library. Always returns a network, unless memory is short: ask it for its
 * error, and free it. Load before other threads read or write environment variables. */
static inline TunesmithNetwork* tunesmith_network_load(const char* path) {
  TunesmithNetwork* network = (TunesmithNetwork*)calloc(1, sizeof(TunesmithNetwork));
  if (!network) return NULL;
  char* name = (char*)malloc(strlen(path) + 3);
  if (!name) {
    tunesmith_fail_(network, "out of memory");
    return network;
  }
  /* A name without a folder would be searched for in those of the system. */
  sprintf(name, "%s%s", strchr(path, '/') ? "" : "./", path);
  network->library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  void* found = network->library ? dlsym(network->library, "tunesmith_network") : NULL;
  void* weights = network->library ? dlsym(network->library, "tunesmith_weights") : NULL;
  if (!network->library) {
    tunesmith_fail_(network, "cannot load %s", dlerror());
  } else if (!found || !weights) {
    tunesmith_fail_(network,
                    "%s is no network's library, or one of another format or for a GPU: build it again",
                    path);
  } else {
    const TunesmithDescription* description = (const TunesmithDescription*)found;
    network->description = description;
    if (!tunesmith_check_description_(network, path) && !tunesmith_allocate_(network)) {
      tunesmith_allow_all_processors_(description->cores);
      /* It registers the functions that networks call which sort; others do without it. */
      dlopen("libtvm_runtime_extra.so", RTLD_LAZY | RTLD_LOCAL);
      network->loaded = !tunesmith_start_(network, name, (char*)weights);
    }
  }
  free(name);
  return network;
}

/* What a network takes and returns; NULL if it could not be loaded. */
static inline const TunesmithDescription* tunesmith_network_describe(
    const TunesmithNetwork* network) {
  return network && network->loaded ? network->description : NULL;
}

static inline void tunesmith_fail_of_batch_(TunesmithNetwork* network, int64_t batch) {
  const TunesmithDescription* found = network->description;
  char known[128] = "";
  for (int32_t i = 0; i < found->num_entries; ++i) {
    const size_t used = strlen(known);
    snprintf(known + used, sizeof(known) - used, "%s%lld", i ? ", " : "",
             (long long)found->entries[i].batch);
  }
  tunesmith_fail_(network, "this network is built for the batches %s, not for %lld", known,
                  (long long)batch);
}

/* The entry for a batch, or the only one there is; NULL with an error if there is none for it. */
static inline const TunesmithEntry* tunesmith_network_entry(TunesmithNetwork* network,
                                                            int64_t batch) {
  const TunesmithDescription* found = tunesmith_network_describe(network);
  if (!found) return NULL; /* the error of loading stays */
  network->error[0] = 0;
  if (found->num_entries == 1) return found->entries;
  for (int32_t i = 0; i < found->num_entries; ++i) {
    if (found->entries[i].batch == batch) return &found->entries[i];
  }
  tunesmith_fail_of_batch_(network, batch);
  return NULL;
}

static inline void tunesmith_write_shape_(char* text, size_t size, const int64_t* shape,
                                          int32_t rank) {
  snprintf(text, size, "(");
  for (int32_t i = 0; i < rank; ++i) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%lld", i ? ", " : "", (long long)shape[i]);
  }
  const size_t used = strlen(text);
  snprintf(text + used, size - used, ")");
}

/* NumPy's name of a type that networks have; of others the numbers. */
static inline void tunesmith_write_type_(char* text, size_t size, DLDataType type) {
  static const char* const names[] = {"int", "uint", "float", "", "bfloat", "", "bool"};
  const char* name = type.code < sizeof(names) / sizeof(names[0]) ? names[type.code] : "";
  if (!*name || type.lanes != 1) {
    snprintf(text, size, "type %d of %d bits and %d lanes", type.code, type.bits, type.lanes);
  } else if (type.code == kDLBool) {
    snprintf(text, size, "%s", name);
  } else {
    snprintf(text, size, "%s%d", name, type.bits);
  }
}

static inline int tunesmith_check_tensor_(TunesmithNetwork* network, const DLTensor* given,
                                          const TunesmithTensor* expected) {
  int same = given->ndim == expected->rank;
  for (int32_t i = 0; same && i < expected->rank; ++i) same = given->shape[i] == expected->shape[i];
  if (!same || given->dtype.code != expected->type_code ||
      given->dtype.bits != expected->type_bits || given->dtype.lanes != 1) {
    char want[96], got[96], type[64];
    tunesmith_write_type_(type, sizeof(type), given->dtype);
    tunesmith_write_shape_(want, sizeof(want), expected->shape, expected->rank);
    tunesmith_write_shape_(got, sizeof(got), given->shape, given->ndim);
    return tunesmith_fail_(network, "%s must be %s of shape %s, not %s of shape %s",
                           expected->name, expected->dtype, want, type, got);
  }
  if (given->device.device_type != kDLCPU) {
    return tunesmith_fail_(network, "%s must be in main memory: copy it there", expected->name);
  }
  if (!given->data && expected->bytes) {
    return tunesmith_fail_(network, "%s has no memory: its data is NULL", expected->name);
  }
  int64_t elements = 1;
  for (int32_t i = expected->rank - 1; given->strides && i >= 0; --i) {
    if (given->shape[i] != 1 && given->strides[i] != elements) {
      return tunesmith_fail_(network, "%s must be dense and in C order: copy it", expected->name);
    }
    elements *= given->shape[i];
  }
  return 0;
}

static inline int64_t tunesmith_index_(const void* data, int64_t i, const TunesmithTensor* type) {
  const int is_unsigned = type->type_code == kDLUInt;
  switch (type->type_bits) {
    case 8: return is_unsigned ? ((const uint8_t*)data)[i] : ((const int8_t*)data)[i];
    case 16: return is_unsigned ? ((const uint16_t*)data)[i] : ((const int16_t*)data)[i];
    case 32: return is_unsigned ? (int64_t)((const uint32_t*)data)[i] : ((const int32_t*)data)[i];
    default: return ((const int64_t*)data)[i];
  }
}

static inline int tunesmith_check_indices_(TunesmithNetwork* network, const void* data,
                                           const TunesmithTensor* expected) {
  const int64_t count = expected->bound ? expected->bytes * 8 / expected->type_bits : 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = tunesmith_index_(data, i, expected);
    if (index >= 0 && index < expected->bound) continue;
    return tunesmith_fail_(network, "%s must be indices from 0 to %lld, and one is %lld",
                           expected->name, (long long)(expected->bound - 1), (long long)index);
  }
  return 0;
}

static inline int tunesmith_overlaps_(const void* data, int64_t bytes, const DLTensor* other,
                                      const TunesmithTensor* described) {
  const char* begin = (const char*)other->data + other->byte_offset;
  return (const char*)data < begin + described->bytes && begin < (const char*)data + bytes;
}

/* Whether an input must be copied: it is not aligned, or a result will be stored over it, while
 * another one may be a view of it. */
static inline int tunesmith_must_copy_(const void* data, const TunesmithTensor* expected,
                                       const TunesmithEntry* entry, const DLTensor* outputs) {
  if ((uintptr_t)data % TUNESMITH_ALIGNMENT) return 1;
  for (int32_t i = 0; entry->num_outputs > 1 && i < entry->num_outputs; ++i) {
    if (tunesmith_overlaps_(data, expected->bytes, &outputs[i], &entry->outputs[i])) return 1;
  }
  return 0;
}

/* A copy of an input, in memory that later calls use again: new memory costs more than the copy. */
static inline void* tunesmith_copied_(TunesmithNetwork* network, int32_t number, const void* data,
                                      int64_t bytes) {
  const TunesmithDescription* found = network->description;
  void** copy = &network->copies[number];
  if (!*copy) {
    int64_t most = 1;
    for (int32_t i = 0; i < found->num_entries; ++i) {
      const TunesmithEntry* entry = &found->entries[i];
      if (number >= entry->num_inputs) continue;
      if (entry->inputs[number].bytes > most) most = entry->inputs[number].bytes;
    }
    if (posix_memalign(copy, TUNESMITH_ALIGNMENT, (size_t)most)) {
      *copy = NULL;
      tunesmith_fail_(network, "out of memory");
      return NULL;
    }
  }
  if (bytes) memcpy(*copy, data, (size_t)bytes);
  return *copy;
}

static inline int tunesmith_use_threads_(TunesmithNetwork* network) {
  static TUNESMITH_THREAD_LOCAL int32_t used; /* by TVM's pool, of which each thread has one */
  const int32_t cores = network->description->cores;
  if (used == cores) return 0;
  const int64_t big_cores_first = 1;
  TVMFFIAny given[2] = {tunesmith_number_(big_cores_first), tunesmith_number_(cores)};
  TVMFFIAny nothing = tunesmith_any_(kTVMFFINone, NULL);
  if (tunesmith_call_(network, "runtime.config_threadpool", given, 2, &nothing)) return -1;
  used = cores;
  return 0;
}

/* Copies a result to the caller's buffer, which may be that of an input. */
static inline void tunesmith_store_(TVMFFIAny result, const TunesmithTensor* expected,
                                    DLTensor* output) {
  const DLTensor* made = (const DLTensor*)((char*)result.v_obj + sizeof(TVMFFIObject));
  if (!expected->bytes) return;
  memmove((char*)output->data + output->byte_offset, (char*)made->data + made->byte_offset,
          (size_t)expected->bytes);
}

static inline int tunesmith_store_results_(TunesmithNetwork* network, const TunesmithEntry* entry,
                                           TVMFFIAny result, DLTensor* outputs) {
  if (result.type_index == kTVMFFITensor) {
    tunesmith_store_(result, &entry->outputs[0], &outputs[0]);
    return 0;
  }
  for (int32_t i = 0; i < entry->num_outputs; ++i) {
    TVMFFIAny given[2] = {result, tunesmith_number_(i)}, one = tunesmith_any_(kTVMFFINone, NULL);
    if (tunesmith_call_(network, "ffi.ArrayGetItem", given, 2, &one)) return -1;
    tunesmith_store_(one, &entry->outputs[i], &outputs[i]);
    tunesmith_release_(&one);
  }
  return 0;
}

/* Calls the function of an entry with inputs that have been checked, the weights and the buffers. */
static inline int tunesmith_execute_(TunesmithNetwork* network, const TunesmithEntry* entry,
                                     const DLTensor* inputs, const DLTensor* outputs,
                                     TVMFFIAny* result) {
  int failed = 0;
  int32_t made = 0;
  for (; !failed && made < entry->num_inputs; ++made) {
    const TunesmithTensor* expected = &entry->inputs[made];
    void* data = (char*)inputs[made].data + inputs[made].byte_offset;
    if (tunesmith_must_copy_(data, expected, entry, outputs)) {
      data = tunesmith_copied_(network, made, data, expected->bytes);
    }
    network->arguments[made] = tunesmith_any_(kTVMFFINone, NULL);
    failed = !data || tunesmith_object_(network, expected, data, &network->input_memory[made],
                                        &network->arguments[made]);
  }
  for (int32_t i = 0; i < entry->num_weights; ++i) {
    network->arguments[entry->num_inputs + i] = network->weights[entry->weights[i]];
  }
  const int64_t number = entry - network->description->entries;
  const TVMFFIAny* buffers =
      network->buffers + tunesmith_count_buffers_(network->description, number);
  const int32_t given = entry->num_inputs + entry->num_weights;
  for (int32_t i = 0; i < entry->num_buffers; ++i) network->arguments[given + i] = buffers[i];
  if (!failed && TVMFFIFunctionCall(network->functions[number].v_obj, network->arguments,
                                    given + entry->num_buffers, result)) {
    failed = tunesmith_fail_of_tvm_(network, "the call");
  }
  for (int32_t i = 0; i < made; ++i) tunesmith_release_(&network->arguments[i]);
  return failed ? -1 : 0;
}

/* Runs the network on the caller's buffers, and fills the outputs. Returns 0, or -1 with an error;
 * then nothing is known of the outputs. The first size of the first input says for which batch. */
static inline int tunesmith_network_run(TunesmithNetwork* network, const DLTensor* inputs,
                                        int32_t num_inputs, DLTensor* outputs,
                                        int32_t num_outputs) {
  const int64_t batch = num_inputs > 0 && inputs[0].ndim > 0 ? inputs[0].shape[0] : -1;
  const TunesmithEntry* entry = tunesmith_network_entry(network, batch);
  if (!entry) return -1;
  if (num_inputs != entry->num_inputs || num_outputs != entry->num_outputs) {
    return tunesmith_fail_(network, "this network has %d inputs and %d outputs, not %d and %d",
                           (int)entry->num_inputs, (int)entry->num_outputs, (int)num_inputs,
                           (int)num_outputs);
  }
  for (int32_t i = 0; i < num_inputs; ++i) {
    if (tunesmith_check_tensor_(network, &inputs[i], &entry->inputs[i])) return -1;
    const void* data = (char*)inputs[i].data + inputs[i].byte_offset;
    if (tunesmith_check_indices_(network, data, &entry->inputs[i])) return -1;
  }
  for (int32_t i = 0; i < num_outputs; ++i) {
    if (tunesmith_check_tensor_(network, &outputs[i], &entry->outputs[i])) return -1;
  }
  TVMFFIAny result = tunesmith_any_(kTVMFFINone, NULL);
  if (tunesmith_use_threads_(network)) return -1;
  if (tunesmith_execute_(network, entry, inputs, outputs, &result)) return -1;
  const int failed = tunesmith_store_results_(network, entry, result, outputs);
  tunesmith_release_(&result);
  return failed;
}

/* Frees a network, which may be NULL. */
static inline void tunesmith_network_free(TunesmithNetwork* network) {
  if (!network) return;
  for (int32_t i = 0; network->functions && i < network->description->num_entries; ++i) {
    tunesmith_release_(&network->functions[i]);
  }
  for (int32_t i = 0; network->weights && i < network->description->num_weights; ++i) {
    tunesmith_release_(&network->weights[i]);
  }
  const TunesmithDescription* found = network->description;
  const int32_t buffers =
      network->buffers ? tunesmith_count_buffers_(found, found->num_entries) : 0;
  for (int32_t i = 0; i < buffers; ++i) tunesmith_release_(&network->buffers[i]);
  tunesmith_release_(&network->machine);
  tunesmith_release_(&network->module);
  for (int32_t i = 0; network->copies && i < network->most_inputs; ++i) free(network->copies[i]);
  free(network->functions);
  free(network->weights);
  free(network->weight_memory);
  free(network->buffers);
  free(network->buffer_memory);
  free(network->memory);
  free(network->arguments);
  free(network->input_memory);
  free(network->copies);
  if (network->library) dlclose(network->library);
  free(network);
}

#ifdef __cplusplus
}
#endif
#endif
