// Which sanitizer this program is built with (g++ and clang say it differently): what a test may then ask for.
#pragma once

namespace tailor::testing {

#if defined(__has_feature)
#define TAILOR_HAS_FEATURE(x) __has_feature(x)
#else
#define TAILOR_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TAILOR_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || TAILOR_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#undef TAILOR_HAS_FEATURE

}  // namespace tailor::testing
