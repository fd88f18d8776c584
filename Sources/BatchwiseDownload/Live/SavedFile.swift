// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A file of an output folder, opened to be shown to somebody.
package struct SavedFile: Sendable {
  /// The descriptor; whoever has the value closes it.
  package let descriptor: Int32
  /// How many bytes it has.
  package let size: Int64
  /// The type of picture that its first bytes show it to be, if it is one that every browser draws and
  /// that runs nothing.
  package let pictureType: String?

  private static let pictures: Set<String> = ["png", "jpeg", "gif", "webp", "bmp", "avif"]
}

extension OutputFolder {
  /// Opens a file that a row names; nil if there is none any more.
  ///
  /// No link is followed, neither at the end of the path nor on the way.
  package func openSaved(_ path: String) -> SavedFile? {
    guard let path = try? OutputPath(listed: path), let file = try? open(path) else { return nil }
    var status = stat()
    guard fstat(file, &status) == 0 else {
      close(file)
      return nil
    }
    return SavedFile(
      descriptor: file, size: Int64(status.st_size), pictureType: SavedFile.pictureType(of: file))
  }

  /// The bytes of a file that a row names; nil if there is none any more, if its first bytes show no
  /// picture that every browser draws, or if it is longer than that.
  package func savedPicture(_ path: String, atMost bound: Int) -> Data? {
    guard let file = openSaved(path) else { return nil }
    defer { close(file.descriptor) }
    guard file.pictureType != nil, let size = Int(exactly: file.size), size <= bound else {
      return nil
    }
    return file.bytes(size)
  }
}

extension SavedFile {
  /// The first bytes; nil if there are not so many, as when somebody shortens the file meanwhile.
  fileprivate func bytes(_ size: Int) -> Data? {
    var bytes = Data(count: size)
    let read = bytes.withUnsafeMutableBytes { buffer in
      var read = 0
      while read < size {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[read...])
        let count = pread(descriptor, rest.baseAddress, rest.count, off_t(read))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        read += count
      }
      return read
    }
    return read == size ? bytes : nil
  }

  fileprivate static func pictureType(of file: Int32) -> String? {
    var start = [UInt8](repeating: 0, count: 64)
    let count = pread(file, &start, start.count, 0)
    guard count > 0 else { return nil }
    let type = start.prefix(count).withUnsafeBytes { Signature(of: $0)?.type }
    guard let type, type.type == "image", pictures.contains(type.subtype) else { return nil }
    return "image/\(type.subtype)"
  }
}
