// What four warps do together: products of matrices in shared memory, by the names in PTX of
// translate.py. Layouts are those of the PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory
// Layout".
//
// Products may read their operands at any time until they have been waited for, and see of shared
// memory what has been published to them (the "async proxy" of the PTX ISA). So they read a copy of
// it twice, when they are begun and when they are waited for, and what differs is NaN. Their sums
// are in no register in the meantime.
#pragma once
#include <map>

// Of a block. Words that a thread has begun to copy to are its own until it publishes them.
struct Published { std::vector<char> bytes; std::vector<uint16_t> owners; };
static Published& published() {
  static Published memory;
  static long of_block = -1;
  if (of_block != block_number) {
    memory.bytes.assign(dynamic_shared_bytes, '\xFF');
    memory.owners.assign(dynamic_shared_bytes / 4, 0);
  }
  of_block = block_number;
  return memory;
}
static void own(const Copy& copy, int before, int owner) {
  std::vector<uint16_t>& owners = published().owners;
  const int64_t first = copy.to - dynamic_shared_memory;
  if (first < 0 || first + copy.bytes > dynamic_shared_bytes) return;  // static memory
  for (uint32_t byte = 0; byte < copy.bytes; byte += 4) {
    uint16_t& of_word = owners[(first + byte) / 4];
    if (before < 0 || of_word == before) of_word = owner;
  }
}
static void unpublish(const Copy& copy) { own(copy, -1, number_of_thread() + 1); }

// What this thread has waited for. Which thread stored what else is not known: all that is there.
static void fence_proxy_async() {
  Published& memory = published();
  std::vector<Copy>& done = copies_of_thread().done;
  for (const Copy& copy : done) own(copy, number_of_thread() + 1, 0);
  done.clear();
  for (size_t word = 0; word < memory.owners.size(); ++word)
    if (!memory.owners[word])
      std::memcpy(&memory.bytes[4 * word], dynamic_shared_memory + 4 * word, 4);
}

static const uint16_t UNKNOWN = 0x7FFF;  // NaN in either type

// An operand by its descriptor: rows of so many bytes, eight of them a stride, whose 16-byte chunks
// are in an order that the bits of the address from 7 on say. Turned, sums run across the rows.
struct Described {
  uint32_t start, leading, stride, width;
  bool turned;
  Described(uint64_t descriptor, bool turned) : turned(turned) {
    const uint64_t field = 0x3FFF, order = descriptor >> 62;
    const uint64_t known = field | field << 16 | field << 32 | uint64_t(3) << 62;
    if (descriptor & ~known || order == 0) raise(SIGILL);  // a layout that is not known here
    start = uint32_t(descriptor & field) << 4;
    leading = uint32_t(descriptor >> 16 & field) << 4;
    stride = uint32_t(descriptor >> 32 & field) << 4;
    width = 256 >> order;
  }
  uint16_t element(int along, int depth) const {
    const uint32_t row = turned ? depth : along, byte = 2 * (turned ? along : depth);
    uint32_t address = start + row / 8 * stride + row % 8 * width;
    address += turned ? byte / width * leading + byte % width : byte;
    address ^= (address >> 7 & (width / 16 - 1)) << 4;
    const int64_t place = int64_t(address) - dynamic_shared_start;
    if (place < 0 || place + 2 > int64_t(dynamic_shared_bytes)) raise(SIGSEGV);
    uint16_t written, seen;
    std::memcpy(&written, dynamic_shared_memory + place, 2);
    std::memcpy(&seen, &published().bytes[place], 2);
    return written == seen ? seen : UNKNOWN;
  }
};

// What a warp is told of a product. It is the same in all warps of a group.
struct Told {
  uint64_t left, right;
  uint32_t add;
  int columns;
  bool operator==(const Told& other) const {
    return left == other.left && right == other.right && !add == !other.add && columns == other.columns;
  }
};

// A thread's part of a product, in its registers the order of mma: of each eight columns two
// neighbours in one row and two in the row that is eight below.
static const int DEPTH = 16, ROWS_OF_THREAD = 2;
struct Product {
  float (*value)(uint16_t);
  std::vector<float*> sums;
  Described left, right;
  bool add;
  std::vector<uint16_t> factors;

  // Two rows, then two columns of each eight, DEPTH elements each.
  std::vector<uint16_t> read() const {
    const int lane = current->lane, warp = number_of_thread() / WARP % 4;
    std::vector<uint16_t> found;
    for (int i = 0; i < ROWS_OF_THREAD; ++i)
      for (int k = 0; k < DEPTH; ++k) found.push_back(left.element(warp * 16 + lane / 4 + 8 * i, k));
    for (size_t i = 0; i < sums.size() / 2; ++i)
      for (int k = 0; k < DEPTH; ++k)
        found.push_back(right.element(i / 2 * 8 + lane % 4 * 2 + i % 2, k));
    return found;
  }
  void add_to(std::vector<float>& totals) const {
    const std::vector<uint16_t> again = read();
    std::vector<float> values;
    for (size_t i = 0; i < again.size(); ++i)
      values.push_back(value(again[i] == factors[i] ? again[i] : UNKNOWN));
    for (size_t place = 0; place < sums.size(); ++place) {
      const float* row = &values[place % 4 / 2 * DEPTH];
      const float* column = &values[(ROWS_OF_THREAD + place / 4 * 2 + place % 2) * DEPTH];
      double total = add ? totals[place] : 0;
      for (int k = 0; k < DEPTH; ++k) total += double(row[k]) * column[k];
      totals[place] = float(total);
    }
  }
};

// A thread's products, and the totals of those under way by the first register of each.
struct Totals { std::vector<float> values; int products; };
struct Products {
  std::vector<Product> begun;
  std::deque<std::vector<Product>> groups;
  std::map<float*, Totals> totals;
  bool fenced = false;
  size_t count = 0;
};
struct OfBlock { Products threads[1024]; std::vector<Told> warpgroups[8]; };
static OfBlock& products_of_block() {
  static OfBlock* products = nullptr;  // too large for the stack of a fiber
  static long of_block = -1;
  if (of_block != block_number) {
    delete products;
    products = new OfBlock;
  }
  of_block = block_number;
  return *products;
}
static Products& products_of_thread() { return products_of_block().threads[number_of_thread()]; }

static const uint32_t UNDER_WAY = 0x7FFFFFFF;  // NaN, and no other one is the same
static bool is_under_way(float value) { return std::memcmp(&value, &UNDER_WAY, 4) == 0; }

// Lanes and warps that do not say the same are an error.
static void agree(const Told& told) {
  if (blockDim.x * blockDim.y * blockDim.z % (4 * WARP)) raise(SIGILL);  // no whole warpgroups
  Operands<Told> lanes(told);
  for (int lane = 0; lane < WARP; ++lane)
    if (!(lanes.of(lane) == told)) raise(SIGILL);
  std::vector<Told>& of_group = products_of_block().warpgroups[number_of_thread() / WARP / 4];
  const size_t number = products_of_thread().count++;
  if (number == of_group.size()) of_group.push_back(told);
  if (!(of_group[number] == told)) raise(SIGILL);
}
template <typename T> static float value_of(uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

// Takes the sums, the descriptors of both operands, and whether to add.
template <typename T, int COLUMNS, int LEFT_TURNED, int RIGHT_TURNED, typename... GIVEN>
static void wgmma_mma_async(GIVEN&... given) {
  const int count = COLUMNS / 2;
  static_assert(sizeof...(GIVEN) == count + 3, "as many sums as the instruction has");
  void* const operands[] = {&given...};
  const Told told = {
      *static_cast<uint64_t*>(operands[count]), *static_cast<uint64_t*>(operands[count + 1]),
      *static_cast<uint32_t*>(operands[count + 2]), COLUMNS};
  agree(told);
  Product product = {
      value_of<T>, {}, Described(told.left, LEFT_TURNED), Described(told.right, RIGHT_TURNED),
      told.add != 0, {}};
  for (int place = 0; place < count; ++place)
    product.sums.push_back(static_cast<float*>(operands[place]));
  product.factors = product.read();
  Products& products = products_of_thread();
  Totals& totals = products.totals.insert({product.sums[0], {{}, 0}}).first->second;
  if (totals.values.empty()) {  // none under way has these registers
    if (!products.fenced) raise(SIGILL);
    for (float* sum : product.sums) {
      totals.values.push_back(*sum);
      std::memcpy(sum, &UNDER_WAY, 4);
    }
  }
  if (totals.values.size() != product.sums.size()) raise(SIGILL);
  ++totals.products;
  products.begun.push_back(std::move(product));
}
static void wgmma_fence() { products_of_thread().fenced = true; }
static void wgmma_commit_group() {
  Products& products = products_of_thread();
  products.groups.push_back(std::move(products.begun));
  products.begun.clear();
}
template <uint32_t PENDING> static void wgmma_wait_group() {
  Products& products = products_of_thread();
  for (; products.groups.size() > PENDING; products.groups.pop_front())
    for (const Product& product : products.groups.front()) {
      Totals& totals = products.totals.find(product.sums[0])->second;
      product.add_to(totals.values);
      if (--totals.products) continue;
      for (size_t place = 0; place < product.sums.size(); ++place) {
        if (!is_under_way(*product.sums[place])) raise(SIGILL);  // written to in the meantime
        *product.sums[place] = totals.values[place];
      }
      products.totals.erase(product.sums[0]);
      products.fenced = false;
    }
}
