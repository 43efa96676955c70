#include "core/record/step_hash.h"

#include "core/base/byte_order.h"
#include "core/base/check.h"

// On x86 the library picks AVX2 or AVX-512 at run time; the build knows only of
// SSE2. Elsewhere inlined: most calls hash a few hundred bytes.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_STATIC_LINKING_ONLY  // The size of a state.
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace penstock::core {
namespace {

// A length that stands for null in a frame.
constexpr uint32_t kNullLength = 0xffffffff;
// Up to this size a key is copied, to be hashed together with what frames it.
constexpr size_t kShortKeyBytes = 64;

inline uint32_t FrameLength(const std::optional<absl::string_view>& bytes) {
  if (!bytes.has_value()) return kNullLength;
  CHECK_LT(bytes->size(), size_t{kNullLength});
  return static_cast<uint32_t>(bytes->size());
}

inline void Update(XXH3_state_t& state, const char* data, size_t size) {
  CHECK_EQ(XXH3_64bits_update(&state, data, size), XXH_OK);
}

}  // namespace

struct StepHasher::PartitionDigest {
  explicit PartitionDigest(uint32_t of_partition) : partition(of_partition) {
    CHECK_EQ(XXH3_64bits_reset(&state), XXH_OK);
  }

  const uint32_t partition;
  uint64_t count = 0;
  XXH3_state_t state;
};

StepHasher::StepHasher() = default;
StepHasher::~StepHasher() = default;

StepHasher::StepHasher(StepHasher&& other) noexcept
    : digests_(std::exchange(other.digests_, {})),
      last_(std::exchange(other.last_, nullptr)) {}

StepHasher& StepHasher::operator=(StepHasher&& other) noexcept {
  digests_ = std::exchange(other.digests_, {});
  last_ = std::exchange(other.last_, nullptr);
  return *this;
}

StepHasher::PartitionDigest& StepHasher::DigestOf(uint32_t partition) {
  if (last_ != nullptr && last_->partition == partition) return *last_;
  auto it = std::lower_bound(
      digests_.begin(), digests_.end(), partition,
      [](const std::unique_ptr<PartitionDigest>& digest, uint32_t wanted) {
        return digest->partition < wanted;
      });
  if (it == digests_.end() || (*it)->partition != partition) {
    it = digests_.insert(it, std::make_unique<PartitionDigest>(partition));
  }
  last_ = it->get();
  return *last_;
}

void StepHasher::Add(const Record& record) {
  PartitionDigest& digest = DigestOf(record.meta.partition);
  ++digest.count;
  // All before the value in one update, unless the key is long.
  std::array<char, 9 + kShortKeyBytes> head;
  head[0] = static_cast<char>(record.meta.op);
  StoreLe32(FrameLength(record.key), &head[1]);
  size_t size = 5;
  if (record.key.has_value()) {
    if (record.key->size() <= kShortKeyBytes) {
      record.key->copy(&head[size], record.key->size());
      size += record.key->size();
    } else {
      Update(digest.state, head.data(), size);
      Update(digest.state, record.key->data(), record.key->size());
      size = 0;
    }
  }
  StoreLe32(FrameLength(record.value), &head[size]);
  Update(digest.state, head.data(), size + 4);
  if (record.value.has_value()) {
    Update(digest.state, record.value->data(), record.value->size());
  }
}

StepHash StepHasher::Finish() const {
  XXH3_state_t state;
  CHECK_EQ(XXH3_64bits_reset(&state), XXH_OK);
  StepHash result;
  for (const std::unique_ptr<PartitionDigest>& digest : digests_) {
    char bytes[20];
    StoreLe32(digest->partition, bytes);
    StoreLe64(digest->count, bytes + 4);
    StoreLe64(XXH3_64bits_digest(&digest->state), bytes + 12);
    Update(state, bytes, sizeof(bytes));
    result.count += digest->count;
  }
  result.value = XXH3_64bits_digest(&state);
  return result;
}

}  // namespace penstock::core
