/* Runs a network on an input of random numbers, or of those in a file, and prints the results.
 *
 *   ./example net.so [batch [input.bin [output.bin]]]
 *
 * The files have the elements of the first input and of the first output, one after another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tunesmith/network.h>

/* Memory that networks use without copying it. */
static void* allocated(const TunesmithTensor* tensor) {
  const size_t whole = ((size_t)tensor->bytes / TUNESMITH_ALIGNMENT + 1) * TUNESMITH_ALIGNMENT;
  void* memory = aligned_alloc(TUNESMITH_ALIGNMENT, whole);
  if (!memory) exit(3);
  return memset(memory, 0, whole);
}

static void fill(const TunesmithTensor* tensor, void* data) {
  if (tensor->type_code != kDLFloat || tensor->type_bits != 32) return; /* zeros */
  for (int64_t i = 0; i < tensor->bytes / 4; ++i) ((float*)data)[i] = rand() / (float)RAND_MAX;
}

static void transfer(const char* path, const char* mode, void* data, size_t bytes) {
  const int reads = mode[0] == 'r';
  FILE* file = fopen(path, mode);
  size_t done = 0;
  if (file) done = reads ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  if (!file || fclose(file) || done != bytes) {
    fprintf(stderr, "cannot %s %s: it should have %zu bytes\n", reads ? "read" : "write", path, bytes);
    exit(2);
  }
}

static int complain(TunesmithNetwork* network) {
  fprintf(stderr, "%s\n", tunesmith_network_error(network));
  tunesmith_network_free(network);
  return 1;
}

static void print(const char* what, const TunesmithTensor* tensor) {
  printf("%s %s: %s", what, tensor->name, tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; ++i) printf(" %lld", (long long)tensor->shape[i]);
  printf("\n");
}

int main(int count, char** words) {
  if (count < 2) {
    fprintf(stderr, "usage: %s net.so [batch [input.bin [output.bin]]]\n", words[0]);
    return 2;
  }
  TunesmithNetwork* network = tunesmith_network_load(words[1]);
  const TunesmithDescription* found = tunesmith_network_describe(network);
  if (!found) return complain(network);
  const TunesmithEntry* entry =
      tunesmith_network_entry(network, count > 2 ? atoll(words[2]) : found->entries[0].batch);
  if (!entry) return complain(network);

  DLTensor* inputs = (DLTensor*)calloc((size_t)entry->num_inputs + 1, sizeof(DLTensor));
  DLTensor* outputs = (DLTensor*)calloc((size_t)entry->num_outputs + 1, sizeof(DLTensor));
  if (!inputs || !outputs) return 3;
  for (int32_t i = 0; i < entry->num_inputs; ++i) {
    print("input", &entry->inputs[i]);
    inputs[i] = tunesmith_tensor(&entry->inputs[i], allocated(&entry->inputs[i]));
    fill(&entry->inputs[i], inputs[i].data);
  }
  for (int32_t i = 0; i < entry->num_outputs; ++i) {
    print("output", &entry->outputs[i]);
    outputs[i] = tunesmith_tensor(&entry->outputs[i], allocated(&entry->outputs[i]));
  }
  if (count > 3) transfer(words[3], "rb", inputs[0].data, (size_t)entry->inputs[0].bytes);
  if (tunesmith_network_run(network, inputs, entry->num_inputs, outputs, entry->num_outputs)) {
    return complain(network);
  }
  if (count > 4) transfer(words[4], "wb", outputs[0].data, (size_t)entry->outputs[0].bytes);

  for (int32_t i = 0; i < entry->num_inputs; ++i) free(inputs[i].data);
  for (int32_t i = 0; i < entry->num_outputs; ++i) free(outputs[i].data);
  free(inputs);
  free(outputs);
  tunesmith_network_free(network);
  return 0;
}
