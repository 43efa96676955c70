#include "core/http/http_get.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <curl/curl.h>

#include <memory>

namespace penstock::core {
namespace {

struct Transfer {
  const std::stop_token& stop;
  const size_t body_bytes_max;
  std::string body = {};
  bool is_too_long = false;
};

size_t TakeBody(char* bytes, size_t /*one*/, size_t size, void* transfer) {
  auto& to = *static_cast<Transfer*>(transfer);
  if (size > to.body_bytes_max - to.body.size()) {
    to.is_too_long = true;
    return 0;
  }
  to.body.append(bytes, size);
  return size;
}

// libcurl wants this once, before anything else.
bool InitializeOnce() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return done;
}

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Multi = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void AddHeader(const std::string& line, Headers& headers) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  CHECK(longer != nullptr) << "out of memory";
  headers.release();
  headers.reset(longer);
}

void SetOptions(CURL* handle, const HttpRequest& request, Transfer& transfer) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  // Signals are the process's; a look-up that hangs must not hold us.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(
      handle, CURLOPT_TIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(request.timeout)));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  const bool has_secret =
      !request.username.empty() || !request.bearer_token.empty();
  if (has_secret && absl::StartsWith(request.url, "http://")) {
    // Nobody between us reads it, whatever the environment's proxy is.
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
  }
  if (!request.ca_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, request.ca_file.c_str());
  }
  if (!request.username.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(handle, CURLOPT_USERNAME, request.username.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, request.password.c_str());
  }
}

absl::Status ErrorOf(CURLcode code, const HttpRequest& request,
                     const Transfer& transfer) {
  const std::string what = absl::StrCat("get ", request.url, ": ");
  if (transfer.stop.stop_requested()) {
    return MakeError(Reason::CANCELLED, absl::StrCat(what, "stopped"));
  }
  if (transfer.is_too_long) {
    return MakeError(Reason::RECORD_TOO_LARGE,
                     absl::StrCat(what, "the answer is longer than ",
                                  request.body_bytes_max, " bytes"));
  }
  Reason reason = Reason::UNAVAILABLE;
  if (code == CURLE_OPERATION_TIMEDOUT) reason = Reason::DEADLINE;
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    reason = Reason::INVALID_CONFIG;
  }
  return MakeError(reason, absl::StrCat(what, curl_easy_strerror(code)));
}

// As curl_easy_perform, which looks for a stop but once a second.
CURLcode Perform(CURL* handle, const std::stop_token& stop) {
  const Multi multi(curl_multi_init(), &curl_multi_cleanup);
  if (multi == nullptr) return CURLE_OUT_OF_MEMORY;
  if (curl_multi_add_handle(multi.get(), handle) != CURLM_OK) {
    return CURLE_FAILED_INIT;
  }
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  {
    const std::stop_callback wake(stop,
                                  [&multi] { curl_multi_wakeup(multi.get()); });
    int running = 1;
    // Woken by the stop as well: the time is but a bound.
    while (running > 0 && !stop.stop_requested() &&
           curl_multi_perform(multi.get(), &running) == CURLM_OK) {
      if (running == 0) break;
      if (curl_multi_poll(multi.get(), nullptr, 0, 1'000, nullptr) !=
          CURLM_OK) {
        break;
      }
    }
  }
  int left = 0;
  if (const CURLMsg* const message = curl_multi_info_read(multi.get(), &left)) {
    code = message->data.result;
  }
  curl_multi_remove_handle(multi.get(), handle);
  return code;
}

}  // namespace

absl::StatusOr<HttpResponse> HttpGet(const HttpRequest& request,
                                     const std::stop_token& stop) {
  if (!InitializeOnce()) {
    return MakeError(Reason::INTERNAL, "libcurl cannot be initialised");
  }
  const Handle handle(curl_easy_init(), &curl_easy_cleanup);
  if (handle == nullptr) {
    return MakeError(Reason::INTERNAL, "libcurl gives no handle");
  }
  Transfer transfer{.stop = stop, .body_bytes_max = request.body_bytes_max};
  SetOptions(handle.get(), request, transfer);
  Headers headers(nullptr, &curl_slist_free_all);
  if (!request.accept.empty()) {
    AddHeader(absl::StrCat("Accept: ", request.accept), headers);
  }
  if (!request.bearer_token.empty()) {
    AddHeader(absl::StrCat("Authorization: Bearer ", request.bearer_token),
              headers);
  }
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  const CURLcode code = Perform(handle.get(), stop);
  if (code != CURLE_OK) return ErrorOf(code, request, transfer);
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  return HttpResponse{.status = static_cast<int>(status),
                      .body = std::move(transfer.body)};
}

}  // namespace penstock::core
