// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import TestSupport

/// A pipe or a terminal between a test and the command: one end for each.
///
/// No other new process inherits an end, so the command sees its input end when the test closes it.
final class Wire: Sendable {
  /// The command's end.
  let theirs: Int32
  private let ours: Int32
  private let open: Mutex<(ours: Bool, theirs: Bool)>

  private init(ours: Int32, theirs: Int32) {
    (self.ours, self.theirs) = (ours, theirs)
    open = Mutex((true, true))
    _ = Self.isSignalIgnored
  }

  deinit {
    close()
    closeTheirs()
  }

  /// A pipe that the test writes to.
  static func input() throws -> Wire {
    let (reading, writing) = try pipe()
    return Wire(ours: writing, theirs: reading)
  }

  /// A pipe that the test reads from.
  static func output() throws -> Wire {
    let (reading, writing) = try pipe()
    return Wire(ours: reading, theirs: writing)
  }

  /// A terminal so many columns wide.
  static func terminal(columns: UInt16 = 80) throws -> Wire {
    let ours = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard ours >= 0 else { throw SystemFailure("open /dev/ptmx") }
    var lock: Int32 = 0
    var number: UInt32 = 0
    let (unlock, askNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
    guard ioctl(ours, unlock, &lock) == 0, ioctl(ours, askNumber, &number) == 0 else {
      throw SystemFailure("ioctl of a terminal")
    }
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(ours, UInt(TIOCSWINSZ), &size)
    let theirs = Glibc.open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard theirs >= 0 else { throw SystemFailure("open a terminal") }
    return Wire(ours: ours, theirs: theirs)
  }

  /// Writes a text, and says whether there was a reader for all of it.
  @discardableResult
  func write(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(ours, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// The next bytes as soon as there are some, or none at the end; blocks the thread meanwhile.
  func readBlocking() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, Glibc.read(ours, buffer.baseAddress, buffer.count))
    }
  }

  /// The next bytes as soon as there are some, or none at the end.
  func readSome() async -> [UInt8] {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.readBlocking()) }
    }
  }

  /// Everything up to the end.
  func readToEnd() async -> [UInt8] {
    var all: [UInt8] = []
    while case let bytes = await readSome(), !bytes.isEmpty { all += bytes }
    return all
  }

  /// How many bytes have been written and not been read.
  var unread: Int {
    var count: Int32 = 0
    return ioctl(ours, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }

  /// Closes the test's end.
  func close() {
    open.withLock { open in
      if open.ours { _ = Glibc.close(ours) }
      open.ours = false
    }
  }

  /// Closes the command's end in the test's own process, once the command has its copy.
  func closeTheirs() {
    open.withLock { open in
      if open.theirs { _ = Glibc.close(theirs) }
      open.theirs = false
    }
  }

  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    // A pipe made in two steps could be inherited by a process that another test starts in between.
    typealias Pipe2 = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
    guard let symbol = dlsym(nil, "pipe2") else { throw SystemFailure("pipe2", code: ENOSYS) }
    var ends: [Int32] = [-1, -1]
    let pipe2 = unsafeBitCast(symbol, to: Pipe2.self)
    guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemFailure("pipe2") }
    return (ends[0], ends[1])
  }

  /// A command that ends while it is written to must not end the tests.
  private static let isSignalIgnored: Bool = {
    signal(SIGPIPE, SIG_IGN)
    return true
  }()
}
