// SPDX-License-Identifier: Apache-2.0

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
}

extension SavedFile {
  fileprivate static func pictureType(of file: Int32) -> String? {
    var start = [UInt8](repeating: 0, count: 64)
    let count = pread(file, &start, start.count, 0)
    guard count > 0 else { return nil }
    let type = start.prefix(count).withUnsafeBytes { Signature(of: $0)?.type }
    guard let type, type.type == "image", pictures.contains(type.subtype) else { return nil }
    return "image/\(type.subtype)"
  }
}
