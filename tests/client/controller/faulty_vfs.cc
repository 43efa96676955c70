#include "tests/client/controller/faulty_vfs.h"

#include "core/base/check.h"

#include <absl/strings/match.h>
#include <sqlite3.h>

#include <cstring>

namespace penstock::client {
namespace {

// One at a time; SQLite's callbacks get no other context.
struct Faults {
  sqlite3_vfs* base = nullptr;
  sqlite3_vfs vfs{};
  std::string name = "penstock-faulty";
  int failing_syncs = 0;
  int failing_writes = 0;
  int syncs = 0;
};
Faults* g_faults = nullptr;

// Stands before the default layer's own file in the same allocation.
struct FaultyFile {
  sqlite3_file head;
  bool is_log;
};

sqlite3_file* BaseOf(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<FaultyFile*>(file) +
                                         1);
}

template <auto Method, typename... Args>
int Forward(sqlite3_file* file, Args... args) {
  sqlite3_file* const base = BaseOf(file);
  return (base->pMethods->*Method)(base, args...);
}

int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  if (reinterpret_cast<FaultyFile*>(file)->is_log &&
      g_faults->failing_writes > 0) {
    --g_faults->failing_writes;
    return SQLITE_FULL;
  }
  return BaseOf(file)->pMethods->xWrite(BaseOf(file), bytes, size, at);
}

int Sync(sqlite3_file* file, int flags) {
  if (reinterpret_cast<FaultyFile*>(file)->is_log) {
    if (g_faults->failing_syncs > 0) {
      --g_faults->failing_syncs;
      return SQLITE_IOERR_FSYNC;
    }
    ++g_faults->syncs;
  }
  return BaseOf(file)->pMethods->xSync(BaseOf(file), flags);
}

using M = sqlite3_io_methods;
const M kMethods = {
    .iVersion = 3,
    .xClose = Forward<&M::xClose>,
    .xRead = Forward<&M::xRead, void*, int, sqlite3_int64>,
    .xWrite = Write,
    .xTruncate = Forward<&M::xTruncate, sqlite3_int64>,
    .xSync = Sync,
    .xFileSize = Forward<&M::xFileSize, sqlite3_int64*>,
    .xLock = Forward<&M::xLock, int>,
    .xUnlock = Forward<&M::xUnlock, int>,
    .xCheckReservedLock = Forward<&M::xCheckReservedLock, int*>,
    .xFileControl = Forward<&M::xFileControl, int, void*>,
    .xSectorSize = Forward<&M::xSectorSize>,
    .xDeviceCharacteristics = Forward<&M::xDeviceCharacteristics>,
    .xShmMap = Forward<&M::xShmMap, int, int, int, void volatile**>,
    .xShmLock = Forward<&M::xShmLock, int, int, int>,
    .xShmBarrier =
        [](sqlite3_file* file) {
          BaseOf(file)->pMethods->xShmBarrier(BaseOf(file));
        },
    .xShmUnmap = Forward<&M::xShmUnmap, int>,
    .xFetch = Forward<&M::xFetch, sqlite3_int64, int, void**>,
    .xUnfetch = Forward<&M::xUnfetch, sqlite3_int64, void*>,
};

int Open(sqlite3_vfs* /*vfs*/, sqlite3_filename name, sqlite3_file* file,
         int flags, int* flags_out) {
  const int code = g_faults->base->xOpen(g_faults->base, name, BaseOf(file),
                                         flags, flags_out);
  if (BaseOf(file)->pMethods == nullptr) return code;
  file->pMethods = &kMethods;
  reinterpret_cast<FaultyFile*>(file)->is_log =
      name != nullptr && absl::EndsWith(name, "-wal");
  return code;
}

}  // namespace

FaultyVfs::FaultyVfs() {
  CHECK(g_faults == nullptr);
  g_faults = new Faults;
  g_faults->base = sqlite3_vfs_find(nullptr);
  g_faults->vfs = *g_faults->base;
  g_faults->vfs.szOsFile += static_cast<int>(sizeof(FaultyFile));
  g_faults->vfs.pNext = nullptr;
  g_faults->vfs.zName = g_faults->name.c_str();
  g_faults->vfs.xOpen = Open;
  CHECK_EQ(sqlite3_vfs_register(&g_faults->vfs, /*makeDflt=*/0), SQLITE_OK);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&g_faults->vfs);
  delete g_faults;
  g_faults = nullptr;
}

const std::string& FaultyVfs::name() const { return g_faults->name; }
void FaultyVfs::FailSyncs(int count) { g_faults->failing_syncs = count; }
void FaultyVfs::FailWrites(int count) { g_faults->failing_writes = count; }
int FaultyVfs::syncs() const { return g_faults->syncs; }

}  // namespace penstock::client
