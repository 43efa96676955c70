// Mutex, MutexLock, CondVar: std::mutex with thread-safety annotations.
//
// They exist because TSan misreads an uninstrumented absl::Mutex, and because
// clang's -Wthread-safety needs annotations. Hold one lock at a time; under a
// lock make no virtual call, callback, I/O or allocation of unbounded size.
#pragma once

#include <absl/base/thread_annotations.h>
#include <absl/time/time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace penstock::core {

// Threads: thread-safe. Not recursive.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return mu_.try_lock();
  }
  // Tells the analysis, in a lambda say, that the caller holds this. Not
  // checked at run time.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a Mutex for a scope: `MutexLock lock(mu_);`.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) {
    mu_.Lock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mu_.Unlock(); }

 private:
  Mutex& mu_;
};

// A condition variable that cannot be waited on without a predicate.
// The predicate runs with the mutex held; start it with `mu_.AssertHeld();`
// where it reads guarded members, or annotate the lambda.
// Threads: thread-safe. Requires: all waiters use the same Mutex.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Blocks: until a notification finds `predicate` true.
  template <typename Predicate>
  void Wait(Mutex& mu, Predicate predicate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock, std::move(predicate));
    lock.release();
  }

  // As Wait, but at most until `steady_deadline`, a time of
  // RealClock().SteadyNow(); absl::InfiniteFuture() is no deadline.
  // Returns: the predicate's last value.
  template <typename Predicate>
  bool WaitUntil(Mutex& mu, absl::Time steady_deadline, Predicate predicate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    bool result = true;
    if (steady_deadline == absl::InfiniteFuture()) {
      cv_.wait(lock, std::move(predicate));
    } else {
      result =
          cv_.wait_until(lock, ToSteady(steady_deadline), std::move(predicate));
    }
    lock.release();
    return result;
  }

  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  static std::chrono::steady_clock::time_point ToSteady(absl::Time deadline) {
    return std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(absl::ToUnixNanos(deadline)));
  }

  std::condition_variable cv_;
};

// While it lives, a stop request wakes every waiter of `cv`, whose predicate
// is to include `token.stop_requested()`. No wake-up is lost.
// Requires: made and destroyed without `mu` held, for its callback takes it.
class StopWaker {
 public:
  StopWaker(const std::stop_token& token, Mutex& mu, CondVar& cv)
      ABSL_LOCKS_EXCLUDED(mu)
      : callback_(token, Wake{mu, cv}) {}
  StopWaker(const StopWaker&) = delete;
  StopWaker& operator=(const StopWaker&) = delete;

 private:
  struct Wake {
    Mutex& mu;
    CondVar& cv;
    void operator()() const {
      // Taking the lock orders the notification after a predicate that has
      // been evaluated and before the wait that follows from it.
      { MutexLock lock(mu); }
      cv.NotifyAll();
    }
  };
  std::stop_callback<Wake> callback_;
};

}  // namespace penstock::core
