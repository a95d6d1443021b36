/* What a compiled network's library says of itself: the type of its symbol tunesmith_network. */
#ifndef TUNESMITH_NETWORK_DESCRIPTION_H
#define TUNESMITH_NETWORK_DESCRIPTION_H

#include <stdint.h>

/* A tensor, dense and in C order. The type's code and bits are DLPack's; dtype is NumPy's name. */
typedef struct {
  const char* name;
  const char* dtype;
  uint8_t type_code;
  uint8_t type_bits;
  int32_t rank;
  const int64_t* shape;
  int64_t bytes;
  int64_t bound; /* 0, or for indices what all of them are below; none is negative */
} TunesmithTensor;

/* The network for one batch: the first size of the first input, -1 if there is no such size. */
typedef struct {
  const char* function;
  int64_t batch;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_weights;
  const TunesmithTensor* inputs;
  const TunesmithTensor* outputs;
  const int32_t* weights; /* the numbers of those that the function takes after its inputs */
  int32_t num_buffers;
  const TunesmithTensor* buffers; /* between layers; the function takes them after its weights */
  const int64_t* buffer_offsets;  /* in bytes, in one piece of memory for all entries */
} TunesmithEntry;

typedef struct {
  int32_t format; /* first in every format */
  int32_t cores; /* the number of threads that the network runs on */
  const char* processor;
  int32_t num_instructions;
  const char* const* instructions; /* LLVM's names of the sets that the processor needs */
  int32_t num_entries;
  const TunesmithEntry* entries;
  int32_t num_weights;
  const TunesmithTensor* weights;
  const int64_t* weight_offsets; /* in bytes, from the symbol tunesmith_weights */
  int64_t buffer_bytes;          /* what the buffers of all entries take */
} TunesmithDescription;

#endif
