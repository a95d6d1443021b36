// Times calls of a network on an input of zeros.
//
//   ./example net.so [batch [calls]]
#include <tunesmith/network.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// A network that frees itself, and throws its errors.
class Network {
 public:
  explicit Network(const std::string& path) : network_(tunesmith_network_load(path.c_str())) {
    check(tunesmith_network_describe(network_.get()) != nullptr);
  }

  const TunesmithEntry& entry(int64_t batch) const {
    const TunesmithEntry* found = tunesmith_network_entry(network_.get(), batch);
    check(found != nullptr);
    return *found;
  }

  const TunesmithDescription& description() const {
    return *tunesmith_network_describe(network_.get());
  }

  void run(const std::vector<DLTensor>& inputs, std::vector<DLTensor>& outputs) {
    check(tunesmith_network_run(network_.get(), inputs.data(), static_cast<int32_t>(inputs.size()),
                                outputs.data(), static_cast<int32_t>(outputs.size())) == 0);
  }

 private:
  void check(bool good) const {
    if (!good) throw std::runtime_error(tunesmith_network_error(network_.get()));
  }

  struct Free {
    void operator()(TunesmithNetwork* network) const { tunesmith_network_free(network); }
  };
  std::unique_ptr<TunesmithNetwork, Free> network_;
};

// Tensors, and the memory that they are in.
struct Tensors {
  std::vector<std::vector<char>> memory;
  std::vector<DLTensor> tensors;

  Tensors(const TunesmithTensor* described, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      memory.emplace_back(static_cast<size_t>(described[i].bytes));
      tensors.push_back(tunesmith_tensor(&described[i], memory.back().data()));
    }
  }
};

int main(int count, char** words) try {
  if (count < 2) throw std::invalid_argument("name a library: net.so [batch [calls]]");
  Network network(words[1]);
  const TunesmithEntry& entry =
      network.entry(count > 2 ? std::stoll(words[2]) : network.description().entries[0].batch);
  Tensors inputs(entry.inputs, entry.num_inputs), outputs(entry.outputs, entry.num_outputs);
  std::vector<double> times(count > 3 ? std::stoul(words[3]) : 20);
  for (double& time : times) {
    const auto begun = std::chrono::steady_clock::now();
    network.run(inputs.tensors, outputs.tensors);
    const auto ended = std::chrono::steady_clock::now();
    time = std::chrono::duration<double, std::milli>(ended - begun).count();
  }
  std::sort(times.begin(), times.end());
  std::cout << times.at(times.size() / 2) << " ms a call, the median of " << times.size() << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
