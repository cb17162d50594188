#include "jit/llvm/session.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <mutex>

#include "jit/runtime_symbols.h"
#include "runtime/error.h"

namespace tailor::jit {
namespace {

namespace orc = llvm::orc;

template <class T>
T unwrap(llvm::Expected<T> value, std::string_view what) {
  if (!value) detail::raise<InternalError>("internal error, please report: ", what, ": ", llvm::toString(value.takeError()));
  return std::move(*value);
}

void unwrap(llvm::Error error, std::string_view what) {
  if (error) detail::raise<InternalError>("internal error, please report: ", what, ": ", llvm::toString(std::move(error)));
}

class Session {
 public:
  static Session& get() {
    // Never destroyed: code may still run in other threads while the process exits.
    static auto* session = new Session;
    return *session;
  }

  orc::ExecutionSession& orc() { return *session_; }
  orc::JITDylib& dylib() { return *dylib_; }
  orc::ObjectLinkingLayer& layer() { return *layer_; }

 private:
  Session() {
    auto control = unwrap(orc::SelfExecutorProcessControl::Create(), "starting the JIT session");
    session_ = std::make_unique<orc::ExecutionSession>(std::move(control));
    // Failures reach the caller of link_object; they are not printed as well.
    session_->setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
    dylib_ = &session_->createBareJITDylib("tailor");
    layer_ = std::make_unique<orc::ObjectLinkingLayer>(*session_);
    orc::SymbolMap symbols;
    for (const RuntimeSymbol& symbol : runtime_symbols())
      symbols[session_->intern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                                llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    unwrap(dylib_->define(orc::absoluteSymbols(std::move(symbols))), "defining the symbols of generated code");
  }

  std::unique_ptr<orc::ExecutionSession> session_;
  orc::JITDylib* dylib_ = nullptr;
  std::unique_ptr<orc::ObjectLinkingLayer> layer_;
};

class Linked final : public LinkedObject {
 public:
  Linked(orc::ResourceTrackerSP tracker, int64_t bytes) : tracker_(std::move(tracker)), bytes_(bytes) {}
  ~Linked() override { llvm::consumeError(tracker_->remove()); }
  void* address(size_t symbol) const override { return addresses_.at(symbol); }
  int64_t code_bytes() const override { return bytes_; }
  std::vector<void*> addresses_;

 private:
  orc::ResourceTrackerSP tracker_;
  int64_t bytes_;
};

}  // namespace

std::shared_ptr<const LinkedObject> link_object(std::string_view object, std::span<const std::string> symbols) {
  Session& session = Session::get();
  auto tracker = session.dylib().createResourceTracker();
  auto linked = std::make_shared<Linked>(tracker, static_cast<int64_t>(object.size()));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, "tailor");
  unwrap(session.layer().add(tracker, std::move(buffer)), "adding generated code");
  orc::SymbolLookupSet wanted;
  for (const std::string& symbol : symbols) wanted.add(session.orc().intern(symbol));
  const orc::SymbolMap found = unwrap(
      session.orc().lookup({{&session.dylib(), orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted)), "linking generated code");
  for (const std::string& symbol : symbols)
    linked->addresses_.push_back(found.lookup(session.orc().intern(symbol)).getAddress().toPtr<void*>());
  return linked;
}

std::string unique_symbol() {
  static std::atomic<uint64_t> next{0};
  return "tailor.kernel." + std::to_string(next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace tailor::jit
