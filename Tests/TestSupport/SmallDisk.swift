// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A file system of a few bytes, to see what happens when it is full.
public enum SmallDisk {
  /// Whether this machine lets the process have one: it takes Linux and an administrator's rights.
  public static let isAllowed: Bool = {
    guard let folder = try? TemporaryFolder() else { return false }
    let isAllowed = Atomic(false)
    let hasEnded = DispatchSemaphore(value: 0)
    // What a thread has laid for itself is gone with the thread.
    Thread {
      isAllowed.store(lay(onto: folder.path, bytes: 65_536), ordering: .relaxed)
      hasEnded.signal()
    }.start()
    hasEnded.wait()
    return isAllowed.load(ordering: .relaxed)
  }()

  /// Lays an empty file system onto the folder, seen by the calling thread only.
  ///
  /// The thread sees other mounts than the rest of its process from then on, so this is for tests in
  /// a process of their own. Other threads reach it by descriptors that the calling thread opens.
  public static func lay(onto path: String, bytes: Int) -> Bool {
    #if os(Linux)
      typealias Unshare = @convention(c) (CInt) -> CInt
      typealias Mount =
        @convention(c) (
          UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, CUnsignedLong,
          UnsafePointer<CChar>
        ) -> CInt
      guard let unshareSymbol = dlsym(nil, "unshare"), let mountSymbol = dlsym(nil, "mount") else {
        return false
      }
      let unshare = unsafeBitCast(unshareSymbol, to: Unshare.self)
      let mount = unsafeBitCast(mountSymbol, to: Mount.self)
      let newMounts: CInt = 0x20000
      let recursivelyPrivate: CUnsignedLong = 0x4000 | 0x40000
      return unshare(newMounts) == 0 && mount("none", "/", "", recursivelyPrivate, "") == 0
        && mount("none", path, "tmpfs", 0, "size=\(bytes)") == 0
    #else
      return false
    #endif
  }
}
