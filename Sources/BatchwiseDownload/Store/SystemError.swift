// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An error number of the operating system.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The number, as `errno` gave it.
  public let code: Int32

  /// Wraps an error number.
  public init(_ code: Int32) { self.code = code }

  /// The operating system's own words, such as "No space left on device".
  public var description: String {
    var text = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &text, text.count) == 0 else { return "Error \(code)" }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// What is said of a device or file that cannot be read as it should.
  static let inputOutput = SystemError(EIO)

  /// What is said of a device that is full.
  static let noSpace = SystemError(ENOSPC)

  /// Whether the device is full, or its owner's share of it used up.
  public var meansFull: Bool { code == ENOSPC || code == EDQUOT }

  /// Whether no more files may be open, in this process or in the whole system.
  public var meansTooManyOpen: Bool { code == EMFILE || code == ENFILE }
}
