// FileSystem on the system calls of Linux.
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/sparse_file.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace penstock::core {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

// Calls `call` until it is not interrupted by a signal.
template <typename Call>
auto Uninterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

FileStat ToFileStat(const struct stat& in) {
  FileStat out;
  out.size = static_cast<uint64_t>(in.st_size);
  out.device = in.st_dev;
  out.inode = in.st_ino;
  out.mtime = absl::TimeFromTimespec(in.st_mtim);
  out.type = S_ISREG(in.st_mode)   ? FileType::kRegular
             : S_ISDIR(in.st_mode) ? FileType::kDirectory
                                   : FileType::kOther;
  return out;
}

// A file descriptor, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

class PosixFile final : public File, public SparseFile {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    size_t got = 0;
    while (got < out.size()) {
      const ssize_t n = Uninterrupted([&] {
        return ::pread(descriptor_.get(), out.data() + got, out.size() - got,
                       static_cast<off_t>(offset + got));
      });
      if (n < 0) return MakeFileError(errno, "read", path_);
      if (n == 0) break;
      got += static_cast<size_t>(n);
    }
    return got;
  }

  absl::Status Append(absl::string_view bytes) override {
    size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t n = Uninterrupted([&] {
        return ::write(descriptor_.get(), bytes.data() + written,
                       bytes.size() - written);
      });
      if (n < 0) return MakeAppendError(errno, path_, written, bytes.size());
      written += static_cast<size_t>(n);
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    if (Uninterrupted([this] { return ::fdatasync(descriptor_.get()); }) != 0) {
      return MakeFileError(errno, "sync", path_);
    }
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size) override {
    const int result = Uninterrupted([this, size] {
      return ::ftruncate(descriptor_.get(), static_cast<off_t>(size));
    });
    if (result != 0) return MakeFileError(errno, "truncate", path_);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Size() override {
    ASSIGN_OR_RETURN(const FileStat stat, Stat());
    return stat.size;
  }

  absl::StatusOr<FileStat> Stat() override {
    struct stat stat {};
    if (::fstat(descriptor_.get(), &stat) != 0) {
      return MakeFileError(errno, "stat", path_);
    }
    return ToFileStat(stat);
  }

  void AdviseWillNeed(uint64_t offset, uint64_t length) override {
    // A hint: whether it was taken changes nothing.
    (void)::posix_fadvise(descriptor_.get(), static_cast<off_t>(offset),
                          static_cast<off_t>(length), POSIX_FADV_WILLNEED);
  }

  void AdviseWillSync(uint64_t offset, uint64_t length) override {
    // Without one of the WAIT flags it leaves errors for fdatasync to report.
    (void)::sync_file_range(descriptor_.get(), static_cast<off64_t>(offset),
                            static_cast<off64_t>(length),
                            SYNC_FILE_RANGE_WRITE);
  }

  uint64_t NextData(uint64_t offset) override {
    // Before the look: what is added after it is not passed over.
    const absl::StatusOr<uint64_t> size = Size();
    if (!size.ok() || *size <= offset) return offset;
    // Nobody else uses where the descriptor stands.
    const off_t data =
        ::lseek(descriptor_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? *size : offset;
    return std::min(static_cast<uint64_t>(data), *size);
  }

 private:
  const Descriptor descriptor_;
  const std::string path_;
};

class PosixFileSystemImpl final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<File>> OpenForRead(
      absl::string_view path) override {
    return Open(path, O_RDONLY);
  }

  absl::StatusOr<std::unique_ptr<File>> OpenForAppend(
      absl::string_view path, AppendOptions options) override {
    int flags = O_RDWR | O_APPEND;
    if (options.create) flags |= O_CREAT;
    if (options.exclusive) flags |= O_EXCL;
    return Open(path, flags);
  }

  absl::StatusOr<FileStat> Stat(absl::string_view path) override {
    const std::string name(path);
    struct stat stat {};
    if (::stat(name.c_str(), &stat) != 0) {
      return MakeFileError(errno, "stat", path);
    }
    return ToFileStat(stat);
  }

  absl::StatusOr<std::vector<std::string>> List(
      absl::string_view directory) override {
    const std::string path(directory);
    DIR* const stream = ::opendir(path.c_str());
    if (stream == nullptr) return MakeFileError(errno, "list", path);
    std::vector<std::string> names;
    int error = 0;
    while (true) {
      errno = 0;
      const dirent* const entry = ::readdir(stream);
      if (entry == nullptr) {
        error = errno;
        break;
      }
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(stream);
    if (error != 0) return MakeFileError(error, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status Rename(absl::string_view from, absl::string_view to) override {
    const std::string from_name(from);
    const std::string to_name(to);
    if (::rename(from_name.c_str(), to_name.c_str()) != 0) {
      return WithContext(MakeFileError(errno, "rename", from),
                         absl::StrCat("to ", to));
    }
    return absl::OkStatus();
  }

  absl::Status Link(absl::string_view from, absl::string_view to) override {
    const std::string from_name(from);
    const std::string to_name(to);
    if (::link(from_name.c_str(), to_name.c_str()) != 0) {
      return WithContext(MakeFileError(errno, "link", from),
                         absl::StrCat("to ", to));
    }
    return absl::OkStatus();
  }

  absl::Status Remove(absl::string_view path) override {
    const std::string name(path);
    if (std::remove(name.c_str()) != 0) {
      return MakeFileError(errno, "remove", path);
    }
    return absl::OkStatus();
  }

  absl::Status MakeDirectory(absl::string_view path) override {
    const std::string name(path);
    if (::mkdir(name.c_str(), kDirectoryMode) != 0) {
      return MakeFileError(errno, "create directory", path);
    }
    return absl::OkStatus();
  }

  absl::Status SyncDirectory(absl::string_view path) override {
    const std::string name(path);
    const Descriptor directory(Uninterrupted([&name] {
      return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }));
    if (!directory.is_open()) return MakeFileError(errno, "open", path);
    if (Uninterrupted([&directory] { return ::fsync(directory.get()); }) != 0) {
      return MakeFileError(errno, "sync directory", path);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> RealPath(absl::string_view path) override {
    const std::string name(path);
    char* const resolved = ::realpath(name.c_str(), nullptr);
    if (resolved == nullptr) return MakeFileError(errno, "resolve", path);
    std::string result(resolved);
    std::free(resolved);
    return result;
  }

 private:
  static absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view path,
                                                    int flags) {
    std::string name(path);
    // O_NONBLOCK has no effect on regular files and keeps the opening of a
    // FIFO from waiting for its other end.
    Descriptor descriptor(Uninterrupted([&name, flags] {
      return ::open(name.c_str(), flags | O_CLOEXEC | O_NONBLOCK, kFileMode);
    }));
    if (!descriptor.is_open()) return MakeFileError(errno, "open", path);
    struct stat stat {};
    if (::fstat(descriptor.get(), &stat) != 0) {
      return MakeFileError(errno, "stat", path);
    }
    if (S_ISDIR(stat.st_mode)) return MakeFileError(EISDIR, "open", path);
    return std::make_unique<PosixFile>(std::move(descriptor), std::move(name));
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  // Never destroyed: threads that outlive main may use it.
  static FileSystem& fs = *new PosixFileSystemImpl();
  return fs;
}

}  // namespace penstock::core
