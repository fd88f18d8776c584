// SPDX-License-Identifier: Apache-2.0

internal import CFileCalls
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Files without a name that are opened before they are needed.
///
/// Opening one takes a tenth of a small download, and the thread that carries the transfers is the one
/// that has no time. Whoever settles whole files has some, and knows how fast they come.
final class FileStock: Sendable {
  private let files = Mutex<[OpenFile]>([])

  /// Takes one out, if one is there.
  func take() -> OpenFile? { files.withLock { $0.popLast() } }

  /// Opens files until so many are there, or no more may be open.
  func fill(to count: Int, in folder: FolderDescriptor) {
    var missing = count - files.withLock { $0.count }
    while missing > 0 {
      let number = batchwise_open_nameless(folder.number, 0o666)
      guard number >= 0 else { return }
      files.withLock { $0.append(OpenFile(number)) }
      missing -= 1
    }
  }
}
