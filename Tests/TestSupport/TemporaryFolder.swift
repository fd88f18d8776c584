// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A new, empty folder that is removed with everything in it when nobody holds it any more.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let path: String

  /// Makes the folder.
  public init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "batchwise-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path(percentEncoded: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The names in the folder, hidden ones included, sorted.
  public var names: [String] { Self.names(in: path) }

  /// The names in the folder, but for that of the downloader's own folder.
  public var files: [String] { names.filter { $0 != ".batchwise" } }

  /// The names in any folder, none if it is not there.
  public static func names(in path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  /// The bytes of a file in the folder, or nil if there is none.
  public subscript(name: String) -> [UInt8]? {
    // Not `FileManager.contents(atPath:)`, which leaks a page for every empty file.
    guard let file = FileHandle(forReadingAtPath: path + "/" + name) else { return nil }
    return (try? file.readToEnd() ?? Data()).map { [UInt8]($0) }
  }

  /// Writes a file into the folder.
  public func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(filePath: path + "/" + name))
  }
}
