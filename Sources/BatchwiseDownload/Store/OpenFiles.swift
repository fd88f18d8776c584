// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// How many files and sockets this process may have open.
package enum OpenFiles {
  /// The number at present.
  package static var most: Int { Int(clamping: limits?.rlim_cur ?? .max) }

  /// Raises the number as far as that is allowed.
  package static func raise() {
    guard var limits else { return }
    limits.rlim_cur = limits.rlim_max
    setrlimit(resource, &limits)
  }

  private static var limits: rlimit? {
    var limits = rlimit()
    return getrlimit(resource, &limits) == 0 ? limits : nil
  }

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif
}
