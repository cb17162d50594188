#include "tailor/watched.h"

#include "frontend/dispatch.h"

namespace tailor::detail {

WatchedVersion::WatchedVersion(std::string name) : cell_(new Cell(1)), name_(std::move(name)) {}
WatchedVersion::~WatchedVersion() { note_write(); }

void WatchedVersion::note_read() const {
  if (OpInterceptor* call = current_interceptor()) {
    const uint64_t version = cell_->word.load(std::memory_order_acquire);
    call->host_read({.what = HostRead::What::Watched, .cell = cell_, .version = version, .name = name_});
  }
}

void WatchedVersion::note_write() noexcept { cell_->word.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace tailor::detail
