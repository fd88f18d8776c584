// SPDX-License-Identifier: Apache-2.0

/// Where a file goes: its path from the output folder, which leads into it and nowhere else.
///
/// Its components are neither empty nor `.` or `..`, hold no backslash and no character that misleads,
/// and are in Unicode's normal form C; the first one is not the folder that the downloader keeps for
/// itself.
struct OutputPath: Sendable, Hashable, CustomStringConvertible {
  /// The path, with slashes between folders and name.
  let description: String

  /// What other paths may not have in common with this one.
  ///
  /// Made with the path, for the state asks for it several times while others wait.
  let collisionKey: CollisionKey

  /// The longest path, in bytes: other programs could not open one much longer.
  static let longest = 4000

  /// The folder that the downloader keeps for itself.
  static let reserved = ".batchwise"

  /// A name in the output folder itself.
  init(_ name: FileName) { self.init(unchecked: name.description) }

  /// A path that a list or a journal names.
  ///
  /// Nothing of it is changed but its normal form: a file of another name than the list gives would
  /// not be found by whoever made the list. So a path that cannot be used is refused, also one with a
  /// component of more than 255 bytes, which no common file system takes.
  ///
  /// - Throws: A `name` failure that says what is wrong with it.
  init(listed text: String) throws(DownloadFailure) {
    func refusal(_ problem: String) -> DownloadFailure {
      DownloadFailure(.name, "The name “\(text.harmless)” \(problem)")
    }
    guard !text.isEmpty else { throw DownloadFailure(.name, "The name is empty") }
    // First of all, for the normal form of a long row of accents takes its time.
    guard text.utf8.count <= Self.longest else {
      throw refusal("is longer than \(Self.longest) bytes")
    }
    let path = text.canonical
    guard !path.utf8.contains(UInt8(ascii: "\\")) else {
      throw refusal("holds a backslash; folders end with /")
    }
    guard !path.unicodeScalars.contains(where: \.isMisleading) else {
      throw refusal("holds a control character, or one that turns the direction of writing")
    }
    guard path.utf8.first != slash else { throw refusal("begins with /; give one without") }
    let components = path.utf8.split(separator: slash, omittingEmptySubsequences: false)
    for component in components {
      switch Substring(component) {
      case "": throw refusal("has an empty part between two /, or at its end")
      case ".", "..": throw refusal("holds a part “\(Substring(component))”; give one without")
      default: break
      }
      guard component.count <= FileName.longest else {
        throw refusal("has a part of more than \(FileName.longest) bytes")
      }
    }
    guard !Self.isReserved(components[0]) else {
      throw refusal("lies in \(Self.reserved), which is kept for the downloader itself")
    }
    self.init(unchecked: path)
  }

  /// The path to use when this one is taken: the same with a mark before the extension of the name.
  ///
  /// The same address gets the same path on every run.
  func alternative(for address: WebAddress) -> OutputPath {
    let name = FileName(component: name).alternative(for: address)
    return OutputPath(unchecked: folder.map { "\($0)/\(name)" } ?? name.description)
  }

  /// The path's last part.
  var name: String {
    guard let last = description.utf8.lastIndex(of: slash) else { return description }
    return String(Substring(description.utf8[last...].dropFirst()))
  }

  /// The folders that the file lies in, from the output folder inwards, with slashes between them.
  var folder: String? {
    description.utf8.lastIndex(of: slash).map { String(Substring(description.utf8[..<$0])) }
  }

  private init(unchecked description: String) {
    self.description = description
    collisionKey = CollisionKey(description)
  }

  /// Whether a component is the downloader's own folder, by the rules of any file system: some make no
  /// difference between letters of either case, leave out invisible characters, or cut off dots and
  /// white space at the end.
  private static func isReserved(_ component: Substring.UTF8View) -> Bool {
    var scalars = String.UnicodeScalarView(
      Substring(component).unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint })
    while let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
    return CollisionKey(String(scalars)) == CollisionKey(reserved)
  }
}

private let slash = UInt8(ascii: "/")
